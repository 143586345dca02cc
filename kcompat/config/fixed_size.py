"""The settings of internal topics in a cluster whose number of brokers is fixed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kcompat.config.broker import BrokerConfig

logger = logging.getLogger(__name__)

REPLICA_COUNTS: Final = (
    "offsets.topic.replication.factor",
    "offsets.commit.required.acks",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.min.isr",
)
"""Keys that count replicas of internal topics."""


def fit_to_size(config: BrokerConfig, brokers: int) -> BrokerConfig:
    """Return `config` with every key of `REPLICA_COUNTS` lowered to `brokers` at most.

    `brokers` is the size of a cluster that no other broker can join. Kafka never makes an internal topic with
    more replicas than there are brokers, so with Kafka's defaults of 3 such a cluster would have no groups
    and no transactions. A value that the user has set is lowered as well, with a warning.
    """
    lowered = [key for key in REPLICA_COUNTS if config.integer(key) > brokers]
    for key in lowered:
        if key in config.static:
            logger.warning(
                "%s=%s is lowered to %d: this cluster has %d broker%s, and none can join it without "
                "zookeeper.connect. Set %s=%d, or start more brokers",
                key, config.static[key], brokers, brokers, "" if brokers == 1 else "s", key, brokers,
            )  # fmt: skip
    return config.with_static(dict.fromkeys(lowered, str(brokers))) if lowered else config
