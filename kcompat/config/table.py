"""The table of configuration keys: every key of Kafka 3.9 for brokers and topics, those of 4.3 for consumer,
share and streams groups and transactions, and the synonyms between them.

Parsing, DescribeConfigs, AlterConfigs, the environment rule and the documentation all read it.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kcompat.config.keys import ConfigKey, Scope
from kcompat.config.rows import (
    broker,
    groups,
    kafka_4_3,
    log,
    metadata,
    network,
    remote,
    replication,
    security,
    topic,
)
from kcompat.config.types import ConfigType
from kcompat.config.validators import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTIONS: tuple[tuple[str, tuple[ConfigKey, ...]], ...] = (
    ("Listeners, connections and requests", network.ROWS),
    ("Identity, topics by default, policies, metrics", broker.ROWS),
    ("Logs, retention and compaction", log.ROWS),
    ("Replication and quotas", replication.ROWS),
    ("Groups, offsets and transactions", groups.ROWS),
    ("Consumer groups of KIP-848", kafka_4_3.CONSUMER_GROUPS),
    ("Share groups", kafka_4_3.SHARE_GROUPS),
    ("Streams groups", kafka_4_3.STREAMS_GROUPS),
    ("Transactions of Kafka 4.3", kafka_4_3.TRANSACTIONS),
    ("Security", security.ROWS),
    ("ZooKeeper and KRaft", metadata.ROWS),
    ("Tiered storage", remote.ROWS),
)
"""The broker keys by subject, in the order of the documentation."""


def _by_name(keys: tuple[ConfigKey, ...]) -> Mapping[str, ConfigKey]:
    return MappingProxyType({key.name: key for key in sorted(keys, key=lambda key: key.name)})


BROKER_KEYS = _by_name(tuple(key for _, rows in SECTIONS for key in rows))
"""Broker keys by name, in alphabetical order."""

TOPIC_KEYS = _by_name(topic.ROWS)
"""Topic keys by name, in alphabetical order."""


DYNAMIC_ONLY_KEYS = _by_name(
    tuple(
        ConfigKey(
            name,
            ConfigType.LONG,
            "9223372036854775807",
            doc,
            validator=Range(0),
            scope=Scope.CLUSTER,
        )
        for name, doc in (
            ("leader.replication.throttled.rate", "Bytes per second leaders send for throttled replicas."),
            (
                "follower.replication.throttled.rate",
                "Bytes per second followers take for throttled replicas.",
            ),
            (
                "replica.alter.log.dirs.io.max.bytes.per.second",
                "Bytes per second of all moves between log directories together.",
            ),
        )
    )
)
"""Broker keys that exist only as dynamic configs (Kafka's `DynamicConfig.Broker`)."""


class ConfigSynonym(NamedTuple):
    """A broker key that gives a topic key its default, and the factor between their units."""

    name: str
    factor: int = 1


_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000

TOPIC_CONFIG_SYNONYMS: Mapping[str, tuple[ConfigSynonym, ...]] = MappingProxyType(
    {
        "cleanup.policy": (ConfigSynonym("log.cleanup.policy"),),
        "compression.gzip.level": (ConfigSynonym("compression.gzip.level"),),
        "compression.lz4.level": (ConfigSynonym("compression.lz4.level"),),
        "compression.type": (ConfigSynonym("compression.type"),),
        "compression.zstd.level": (ConfigSynonym("compression.zstd.level"),),
        "delete.retention.ms": (ConfigSynonym("log.cleaner.delete.retention.ms"),),
        "file.delete.delay.ms": (ConfigSynonym("log.segment.delete.delay.ms"),),
        "flush.messages": (ConfigSynonym("log.flush.interval.messages"),),
        "flush.ms": (
            ConfigSynonym("log.flush.interval.ms"),
            ConfigSynonym("log.flush.scheduler.interval.ms"),
        ),
        "index.interval.bytes": (ConfigSynonym("log.index.interval.bytes"),),
        "local.retention.bytes": (ConfigSynonym("log.local.retention.bytes"),),
        "local.retention.ms": (ConfigSynonym("log.local.retention.ms"),),
        "max.compaction.lag.ms": (ConfigSynonym("log.cleaner.max.compaction.lag.ms"),),
        "max.message.bytes": (ConfigSynonym("message.max.bytes"),),
        "message.downconversion.enable": (ConfigSynonym("log.message.downconversion.enable"),),
        "message.format.version": (ConfigSynonym("log.message.format.version"),),
        "message.timestamp.after.max.ms": (ConfigSynonym("log.message.timestamp.after.max.ms"),),
        "message.timestamp.before.max.ms": (ConfigSynonym("log.message.timestamp.before.max.ms"),),
        "message.timestamp.difference.max.ms": (ConfigSynonym("log.message.timestamp.difference.max.ms"),),
        "message.timestamp.type": (ConfigSynonym("log.message.timestamp.type"),),
        "min.cleanable.dirty.ratio": (ConfigSynonym("log.cleaner.min.cleanable.ratio"),),
        "min.compaction.lag.ms": (ConfigSynonym("log.cleaner.min.compaction.lag.ms"),),
        "min.insync.replicas": (ConfigSynonym("min.insync.replicas"),),
        "preallocate": (ConfigSynonym("log.preallocate"),),
        "retention.bytes": (ConfigSynonym("log.retention.bytes"),),
        "retention.ms": (
            ConfigSynonym("log.retention.ms"),
            ConfigSynonym("log.retention.minutes", _MINUTE_MS),
            ConfigSynonym("log.retention.hours", _HOUR_MS),
        ),
        "segment.bytes": (ConfigSynonym("log.segment.bytes"),),
        "segment.index.bytes": (ConfigSynonym("log.index.size.max.bytes"),),
        "segment.jitter.ms": (
            ConfigSynonym("log.roll.jitter.ms"),
            ConfigSynonym("log.roll.jitter.hours", _HOUR_MS),
        ),
        "segment.ms": (ConfigSynonym("log.roll.ms"), ConfigSynonym("log.roll.hours", _HOUR_MS)),
        "unclean.leader.election.enable": (ConfigSynonym("unclean.leader.election.enable"),),
    }
)
"""The broker keys that give a topic key its default; the first that is set counts."""

_FAMILIES = {
    name: tuple(synonym.name for synonym in synonyms)
    for synonyms in TOPIC_CONFIG_SYNONYMS.values()
    if len(synonyms) > 1
    for name in (synonym.name for synonym in synonyms if synonym.name != "log.flush.scheduler.interval.ms")
}

_LISTENER_PREFIX = re.compile(r"listener\.name\.([^.]*)\.(.*)")
_OF_A_MECHANISM = re.compile(
    r"[^.]+\.(sasl\.(?:jaas\.config|login\..*|server\.callback\.handler\.class|oauthbearer\..*)"
    r"|connections\.max\.reauth\.ms)"
)
"""Keys behind the name of a SASL mechanism."""


def without_listener_prefix(name: str) -> str | None:
    """Return the key after `listener.name.NAME.` (and, for some, a SASL mechanism); None without such a
    prefix.
    """
    match = _LISTENER_PREFIX.fullmatch(name)
    if match is None:
        return None
    of_mechanism = _OF_A_MECHANISM.fullmatch(match[2])
    return match[2] if of_mechanism is None else of_mechanism[1]


def listener_in(name: str) -> str | None:
    """Return the listener's name in a key that begins with `listener.name.`; None for another key."""
    match = _LISTENER_PREFIX.fullmatch(name)
    return None if match is None else match[1]


def mechanism_key(listener: str, mechanism: str, name: str) -> str:
    """Return the name under which a key is set for one SASL mechanism of one listener."""
    return f"listener.name.{listener.lower()}.{mechanism.lower()}.{name}"


def broker_synonyms(name: str) -> tuple[str, ...]:
    """Return the keys that may set a broker key's value, strongest first (Kafka's `brokerConfigSynonyms`)."""
    base = without_listener_prefix(name)
    return _FAMILIES.get(name, (name,)) if base is None else (name, base)


def broker_key(name: str) -> ConfigKey | None:
    """Return the row of a broker key, also under a listener's prefix; None for an unknown name."""
    base = without_listener_prefix(name) or name
    return BROKER_KEYS.get(base) or DYNAMIC_ONLY_KEYS.get(name)
