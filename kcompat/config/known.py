"""Names of broker keys: those that Kafka or its plug-ins know, and suggestions for misspelt names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.config.table import BROKER_KEYS, TOPIC_CONFIG_SYNONYMS, TOPIC_KEYS, broker_key
from kcompat.config.unenforced import WITHOUT_ROW
from kcompat.errors import ConfigError
from kcompat.wording import meant_name

if TYPE_CHECKING:
    from collections.abc import Iterable

NEWER_KEYS: Final = frozenset(
    {
        "add.partitions.to.txn.retry.backoff.max.ms",
        "add.partitions.to.txn.retry.backoff.ms",
        "controller.performance.always.log.threshold.ms",
        "controller.performance.sample.period.ms",
        "controller.quorum.auto.join.enable",
        "controller.quorum.fetch.max.bytes",
        "controller.quorum.fetch.snapshot.max.bytes",
        "cordoned.log.dirs",
        "follower.fetch.last.tiered.offset.enable",
        "group.consumer.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.coordinator.cached.buffer.max.bytes",
        "internal.metadata.delete.delay.millis",
        "internal.metadata.log.segment.bytes",
        "internal.metadata.max.batch.size.in.bytes",
        "remote.list.offsets.request.timeout.ms",
        "remote.log.index.file.cache.ttl.ms",
        "remote.log.manager.follower.thread.pool.size",
    }
)
"""Keys of Kafka 4.3 that have no row in the table: they are accepted and have no effect."""

_PLUGIN_KEYS: Final = frozenset({"allow.everyone.if.no.acl.found", "config.providers", "super.users"})
_PLUGIN_PREFIXES: Final = (
    "authorizer.",
    "client.quota.callback.",
    "config.providers.",
    "confluent.",
    "cruise.control.",
    "kafka.csv.metrics.",
    "listener.name.",
    "metrics.jmx.",
    "rlmm.config.",
    "rsm.config.",
    "strimzi.",
)
"""Prefixes of keys that authorizers, reporters and other plug-ins of Kafka's brokers read."""


def is_known(name: str) -> bool:
    """Return whether Kafka 3.9 or 4.3, or a plug-in of theirs, has a broker key of this name."""
    return (
        broker_key(name) is not None
        or name in NEWER_KEYS
        or name in WITHOUT_ROW
        or name in _PLUGIN_KEYS
        or name.startswith(_PLUGIN_PREFIXES)
    )


def is_obeyed_key_of_plugins(name: str) -> bool:
    """Return whether this broker obeys a key that in Kafka only authorizers and config providers read."""
    return name in _PLUGIN_KEYS or name.startswith("config.providers.")


def meant_key(name: str) -> str | None:
    """Return the broker key that a misspelt name or a topic key's name stands for; None if there is none."""
    if name in TOPIC_CONFIG_SYNONYMS:
        return TOPIC_CONFIG_SYNONYMS[name][0].name
    return meant_name(name, BROKER_KEYS)


def meant_topic_key(name: str, others: Iterable[str] = ()) -> str | None:
    """Return the topic key, or the one of `others`, that a misspelt name or a broker key's name stands for;
    None if there is none.
    """
    for key, synonyms in TOPIC_CONFIG_SYNONYMS.items():
        if name in (synonym.name for synonym in synonyms):
            return key
    return meant_name(name, (*TOPIC_KEYS, *others))


def insist_on_known(names: Iterable[str]) -> None:
    """Refuse keys of a program or a command line that exist in no Kafka version.

    Raises:
        ConfigError: the first such key, with the key that was probably meant.
    """
    for name in names:
        if not is_known(name):
            meant = meant_key(name)
            hint = "`kcompat config` lists them" if meant is None else f"did you mean {meant}?"
            raise ConfigError(f"{name} is not a key of Kafka's brokers: {hint}")
