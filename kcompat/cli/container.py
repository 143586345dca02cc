"""`kcompat container`: the broker of the container image, its health check and its `kafka-storage`."""

from __future__ import annotations

import logging
import os
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kcompat.cli.control import settings_of_variables
from kcompat.cli.logging_options import ROOT_LEVEL_VARIABLE
from kcompat.cli.logs import set_up_logging
from kcompat.cli.metrics import EVERY_INTERFACE, HOST_VARIABLE
from kcompat.cli.process_title import hide_settings
from kcompat.cli.start import in_one_sentence, log_oddities, run_brokers
from kcompat.config.broker import BrokerConfig
from kcompat.config.container import Asked, read_container
from kcompat.config.errors import ConfigError
from kcompat.config.first_topics import check_first_topics
from kcompat.config.properties import key_of_variable
from kcompat.config.redpanda import variables_of_rpk
from kcompat.log.identity import Identity, store_identity, stored_identity
from kcompat.net.listener import ListenerError
from kcompat.node.identity import DEFAULT_BROKER_ID
from kcompat.node.listeners import reachable_host
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from kcompat.config.listeners import Endpoint

logger = logging.getLogger(__name__)

MOUNTED: Final = Path("/mnt/shared/config/server.properties")
SECRETS: Final = Path("/etc/kafka/secrets")
REDPANDA: Final = Path("/etc/redpanda/redpanda.yaml")

WITH_ZOOKEEPER: Final = ("[KafkaServer id={}] started",)
WITH_KRAFT: Final = (
    "[BrokerLifecycleManager id={}] Transitioning from RECOVERY to RUNNING",
    "[KafkaRaftServer nodeId={}] Kafka Server started",
)
AS_REDPANDA: Final = ("Started Kafka API server", "Successfully started Redpanda!")
"""Lines of the log by which programs detect that Redpanda's image has started. `WITH_ZOOKEEPER` and
`WITH_KRAFT` are the lines of Kafka's images; {} stands for the broker's id."""

_HEALTH_TIMEOUT_S: Final = 5.0
"""Longest time in seconds in which a healthy broker answers."""
_CORRELATION_ID: Final = 1
_REQUEST: Final = struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, _CORRELATION_ID, -1)
_ANSWER: Final = struct.Struct(">iih")


def run(options: argparse.Namespace) -> int:
    """Run the broker until a signal ends it, or do what `options.action` names; return the exit code."""
    if options.action == "health":
        return in_one_sentence(_insist_on_health)
    if options.action == "rpk":
        return in_one_sentence(lambda: _run(variables_of_rpk(options.words, REDPANDA), AS_REDPANDA))
    if options.action == "storage":
        from kcompat.cli import storage  # a broker does without it

        set_up_logging({ROOT_LEVEL_VARIABLE: "INFO", **os.environ})
        return in_one_sentence(lambda: storage.run(options.words, _broker_config))
    return in_one_sentence(lambda: _run(_variables(options.settings)))


def _insist_on_health() -> int:
    listener = _broker_config().listeners[0]
    fault = _fault_of(listener)
    if fault is not None:
        raise ListenerError(fault)
    return 0


def _fault_of(listener: Endpoint) -> str | None:
    """Ask the broker at `listener` for its APIs; return the fault in a sentence, or None if it answers.

    With TLS a handshake is enough: the broker may want a certificate that this command does not have.
    """
    try:
        with socket.create_connection(
            (reachable_host(listener.host), listener.port), _HEALTH_TIMEOUT_S
        ) as connection:
            connection.settimeout(_HEALTH_TIMEOUT_S)
            if listener.protocol.endswith("SSL"):
                return _fault_of_tls(listener, connection)
            connection.sendall(_REQUEST)
            answer = connection.recv(_ANSWER.size, socket.MSG_WAITALL)
    except OSError as error:
        return f"{listener} does not answer: {error.strerror or error}"
    if len(answer) < _ANSWER.size or _ANSWER.unpack(answer)[1:] != (_CORRELATION_ID, 0):
        return f"{listener} answers otherwise than a broker"
    return None


def _fault_of_tls(listener: Endpoint, connection: socket.socket) -> str | None:
    """Return the fault of a TLS listener in a sentence, or None if it takes part in a handshake."""
    import ssl  # most listeners do without OpenSSL

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing secret is sent
    try:
        context.wrap_socket(connection).close()
    except ssl.SSLError as error:
        if "ALERT" not in (error.reason or ""):  # the broker refuses this client by an alert
            return f"{listener} does not speak TLS: {error.reason}"
    return None


def _run(variables: Mapping[str, str], sentences: Sequence[str] | None = None) -> int:
    """Run a broker with `variables`, which take precedence over the environment; return the exit code.

    Logs `sentences` when the broker has started; by default those of the Kafka image that the variables
    imply.
    """
    hide_settings((key_of_variable(name), value) for name, value in variables.items())
    os.environ.setdefault(HOST_VARIABLE, EVERY_INTERFACE)  # the engine decides who reaches it
    environment = {ROOT_LEVEL_VARIABLE: "INFO", **os.environ, **variables}
    set_up_logging(environment)
    logger.setLevel(logging.INFO)  # programs wait for a start message, whatever the level
    requested = _requested(environment)
    for remark in requested.remarks:
        logger.info("%s", remark)
    config = BrokerConfig(requested.values)
    log_oddities(config)
    check_first_topics(requested.topics, config, 1)
    if requested.cluster_id is not None:
        _choose_cluster(config, requested.cluster_id)
    if sentences is None:
        sentences = WITH_KRAFT if requested.as_kraft else WITH_ZOOKEEPER
    return run_brokers(
        config,
        started=lambda _: _tell(config, sentences),
        topics=requested.topics,
        control=settings_of_variables(environment),
    )


def _variables(settings: Sequence[str]) -> dict[str, str]:
    """Return the values of NAME=VALUE arguments by name."""
    for setting in settings:
        if not setting.partition("=")[1] or setting.startswith("="):
            raise ConfigError(f"{setting!r} is not of the form NAME=VALUE")
    return {name: value for name, _, value in (setting.partition("=") for setting in settings)}


def _broker_config() -> BrokerConfig:
    return BrokerConfig(_requested(os.environ).values)


def _requested(environment: Mapping[str, str]) -> Asked:
    return read_container(environment, MOUNTED, SECRETS)


def _choose_cluster(config: BrokerConfig, cluster_id: str) -> None:
    """Store the cluster id in directories that have none yet, as `kafka-storage format` does."""
    if stored_identity(config.log_dirs).cluster_id is None:
        broker_id = DEFAULT_BROKER_ID if config.broker_id < 0 else config.broker_id
        with suppress(OSError):  # the broker itself says what is wrong with a directory
            store_identity(config.log_dirs, Identity(broker_id, cluster_id))


def _tell(config: BrokerConfig, sentences: Sequence[str]) -> Sequence[str]:
    """Log the sentences that programs wait for. Returns no line to print."""
    broker_id = config.broker_id
    if broker_id < 0:
        broker_id = stored_identity(config.log_dirs).broker_id or DEFAULT_BROKER_ID
    for sentence in sentences:
        logger.info("%s", sentence.format(broker_id))
    return ()
