"""Kafka's names of the loggers of a broker, and of levels.

A part of the broker that Kafka has too logs under the name of Kafka's class, so that the levels and filters
that people have for Kafka apply. Everything else logs under the name of its module, below `kcompat`.
"""

from __future__ import annotations

import logging
from typing import Final

ACCEPTOR: Final = "kafka.network.Acceptor"
AUTHORIZER: Final = "kafka.authorizer.logger"
"""The log of the decisions of the authorizer."""
CLIENT_QUOTAS: Final = "kafka.server.ClientQuotaManager"
CONNECTION_QUOTAS: Final = "kafka.network.ConnectionQuotas"
CONTROLLER: Final = "kafka.controller.KafkaController"
FETCH_SESSIONS: Final = "kafka.server.FetchManager"
GROUP_COORDINATOR: Final = "kafka.coordinator.group.GroupCoordinator"
KAFKA_APIS: Final = "kafka.server.KafkaApis"
LOG_CLEANER: Final = "kafka.log.LogCleaner"
LOG_MANAGER: Final = "kafka.log.LogManager"
PARTITION: Final = "kafka.cluster.Partition"
PRODUCER_STATES: Final = "org.apache.kafka.storage.internals.log.ProducerStateManager"
REPLICA_FETCHER: Final = "kafka.server.ReplicaFetcherThread"
REPLICA_MANAGER: Final = "kafka.server.ReplicaManager"
REQUESTS: Final = "kafka.request.logger"
"""The request log: one line a request at DEBUG."""
SASL: Final = "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator"
SELECTOR: Final = "org.apache.kafka.common.network.Selector"
SERVER: Final = "kafka.server.KafkaServer"
STATE_CHANGES: Final = "state.change.logger"
"""The log of leaderships and ISRs that the controller decides and brokers take."""
TLS: Final = "org.apache.kafka.common.network.SslTransportLayer"
TRANSACTION_COORDINATOR: Final = "kafka.coordinator.transaction.TransactionCoordinator"
UNIFIED_LOG: Final = "kafka.log.UnifiedLog"

KAFKA_NAMES: Final = frozenset(value for name, value in globals().items() if name.isupper())
"""The names in this module."""

LEVELS: Final = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": 5,
    "WARN": logging.WARNING,
}
"""Python's level numbers by Kafka's level names."""
