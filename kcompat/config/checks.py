"""Checks of broker keys whose values must fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.config.errors import ConfigError, RequirementError
from kcompat.config.java_text import parse_integer, split_pairs
from kcompat.config.listeners import is_host

if TYPE_CHECKING:
    from kcompat.config.attributes import BrokerKeys


def check_broker(config: BrokerKeys) -> None:
    """Check the values of a broker's keys by Kafka's rules (`KafkaConfig.validateValues`).

    Raises:
        ConfigError: the first broken rule.
    """
    _require(config, "broker.id", -1)
    _check_log_dirs(config)
    _check_log_times(config)
    _check_connections(config)
    _check_groups(config)


def _check_log_dirs(config: BrokerKeys) -> None:
    directories = config.log_dirs
    if not directories:
        raise RequirementError(f"log.dirs={config.string('log.dirs')} names no directory")
    for directory in directories:
        if directories.count(directory) > 1:
            raise RequirementError(f"log.dirs names {directory} more than once")


def _check_log_times(config: BrokerKeys) -> None:
    for name in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
        if config.get(name) == 0:
            raise RequirementError(f"{name} must be unlimited (-1) or, greater than or equal to 1")
    _require(config, "log.roll.ms", 1)
    _require(config, "log.roll.jitter.ms", 0)
    _require(config, "log.cleaner.threads", 1)
    per_thread = config.integer("log.cleaner.dedupe.buffer.size") // config.integer("log.cleaner.threads")
    if per_thread <= 1 << 20:
        raise RequirementError("log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")


def _require(config: BrokerKeys, name: str, least: int) -> None:
    value = config.get(name)
    if isinstance(value, int) and value < least:
        raise RequirementError(f"{name} must be greater than or equal to {least}")


def _check_connections(config: BrokerKeys) -> None:
    overrides = config.string("max.connections.per.ip.overrides")
    parse_ip_overrides(overrides)
    if config.integer("max.connections.per.ip") == 0 and not overrides:
        raise RequirementError(
            "max.connections.per.ip can be set to zero only if "
            "max.connections.per.ip.overrides property is set."
        )


def parse_ip_overrides(text: str) -> dict[str, int]:
    """Parse the host:count pairs of `max.connections.per.ip.overrides`.

    Raises:
        ConfigError: an element is not such a pair.
    """
    try:
        pairs = split_pairs(text)
    except ValueError as error:
        raise _not_a_count(error.args[0]) from None
    counts: dict[str, int] = {}
    for host, count in pairs:
        if not is_host(host):
            raise _not_a_count(f"{host}:{count}")
        try:
            counts[host] = parse_integer(count, 32)
        except ValueError:
            raise _not_a_count(f"{host}:{count}") from None
    return counts


def _not_a_count(pair: str) -> ConfigError:
    return ConfigError(f"max.connections.per.ip.overrides has {pair!r}, which is not of the form HOST:COUNT")


def _check_groups(config: BrokerKeys) -> None:
    least, most = (
        config.integer("group.min.session.timeout.ms"),
        config.integer("group.max.session.timeout.ms"),
    )
    if least > most:
        raise ConfigError(
            f"group.min.session.timeout.ms={least} must not exceed group.max.session.timeout.ms={most}"
        )
    for kind, more in (("consumer", ()), ("share", ()), ("streams", ("assignment.interval.ms",))):
        for what in ("heartbeat.interval.ms", "session.timeout.ms", *more):
            _check_bounds(
                config, f"group.{kind}.{what}", f"group.{kind}.min.{what}", f"group.{kind}.max.{what}"
            )
    replicas, most_replicas = "group.streams.num.standby.replicas", "group.streams.max.standby.replicas"
    if config.integer(replicas) > config.integer(most_replicas):
        raise ConfigError(f"{replicas} must be less than or equal to {most_replicas}")
    if config.integer("group.streams.heartbeat.interval.ms") >= config.integer(
        "group.streams.session.timeout.ms"
    ):
        raise ConfigError(
            "group.streams.heartbeat.interval.ms must be less than group.streams.session.timeout.ms"
        )
    found = len(config.strings("group.share.assignors"))
    if found != 1:
        raise RequirementError(f"group.share.assignors must contain exactly one assignor, but found {found}")
    acks = config.integer("offsets.commit.required.acks")
    if not -1 <= acks <= config.integer("offsets.topic.replication.factor"):
        raise RequirementError(
            "offsets.commit.required.acks must be greater or equal -1 and less or equal to "
            "offsets.topic.replication.factor"
        )


def _check_bounds(config: BrokerKeys, name: str, least: str, most: str) -> None:
    """Raise ConfigError unless the value of a key lies between the values of two other keys."""
    for larger, smaller in ((most, least), (name, least)):
        if config.integer(larger) < config.integer(smaller):
            raise ConfigError(f"{larger} must be greater than or equal to {smaller}")
    if config.integer(name) > config.integer(most):
        raise ConfigError(f"{name} must be less than or equal to {most}")
