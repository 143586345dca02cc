"""The answers of DescribeConfigs for topics, groups and brokers: values and their sources."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.config.errors import ConfigError
from kcompat.config.group import GROUP_KEYS, group_default
from kcompat.config.table import (
    BROKER_KEYS,
    TOPIC_CONFIG_SYNONYMS,
    TOPIC_KEYS,
    broker_key,
    broker_synonyms,
)
from kcompat.config.topic import topic_default
from kcompat.config.types import ConfigType, Value, format_value
from kcompat.protocol.constants import ConfigSource

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.group import GroupKey
    from kcompat.config.keys import ConfigKey

REMEMBERED = 8
"""Number of configurations whose topic defaults are cached: one for each broker of a process."""


class Synonym(Struct, frozen=True):
    """One source of a value, or one that would apply if the stronger ones were absent; `value` is None for
    secrets.
    """

    name: str
    value: str | None
    source: ConfigSource


class DescribedConfig(Struct, frozen=True):
    """One key of a resource as clients see it; `value` is None for secrets and unset keys."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type: ConfigType
    synonyms: tuple[Synonym, ...] = ()
    doc: str | None = None


class _Everything:
    """Filter that includes all names."""

    def __contains__(self, name: object) -> bool:
        return True


EVERYTHING: Container[str] = _Everything()


def describe_topic(
    config: BrokerConfig, overrides: Mapping[str, str], names: Container[str] = EVERYTHING
) -> list[DescribedConfig]:
    """Return every topic key of a topic with these overrides, restricted to `names`."""
    return [
        _topic_entry(config, overrides, TOPIC_KEYS[name]) if name in overrides else entry
        for name, entry in _plain_topic(config).items()
        if name in names
    ]


@lru_cache(REMEMBERED)
def _plain_topic(config: BrokerConfig) -> Mapping[str, DescribedConfig]:
    """Return the described config of every topic key, for a topic without overrides. Cached, as each
    CreateTopics response has them all.
    """
    return {name: _topic_entry(config, {}, key) for name, key in TOPIC_KEYS.items()}


def _topic_entry(config: BrokerConfig, overrides: Mapping[str, str], key: ConfigKey) -> DescribedConfig:
    broker_keys = TOPIC_CONFIG_SYNONYMS.get(key.name)
    synonyms = [] if broker_keys is None else _synonyms(config, broker_keys[0].name)
    if key.name in overrides:
        value = _shown(key, overrides[key.name])
        synonyms.insert(0, Synonym(key.name, value, ConfigSource.DYNAMIC_TOPIC_CONFIG))
    else:
        value = format_value(topic_default(config, key.name))
    return _entry(key.name, key, value, synonyms, read_only=False)


def describe_group(
    config: BrokerConfig, overrides: Mapping[str, str], names: Container[str] = EVERYTHING
) -> list[DescribedConfig]:
    """Return every key of a group with these overrides, restricted to `names`."""
    return [_group_entry(config, overrides, key) for name, key in GROUP_KEYS.items() if name in names]


def _group_entry(config: BrokerConfig, overrides: Mapping[str, str], key: GroupKey) -> DescribedConfig:
    if key.broker_key is not None:
        synonyms = _synonyms(config, key.broker_key)
    else:
        synonyms = [Synonym(key.name, key.row.default, ConfigSource.DEFAULT_CONFIG)]
    if key.name in overrides:
        value = _shown(key.row, overrides[key.name])
        synonyms.insert(0, Synonym(key.name, value, ConfigSource.DYNAMIC_GROUP_CONFIG))
    else:
        value = format_value(group_default(config, key))
    return _entry(key.name, key.row, value, synonyms, read_only=False)


def describe_broker(config: BrokerConfig, names: Container[str] = EVERYTHING) -> list[DescribedConfig]:
    """Return every broker key except hidden ones, and every other key that was set, restricted to `names`."""
    visible = {name for name, key in BROKER_KEYS.items() if not key.internal}
    return [
        _broker_entry(config, name, _synonyms(config, name))
        for name in sorted(visible.union(config.given))
        if name in names
    ]


def describe_cluster_default(
    config: BrokerConfig, names: Container[str] = EVERYTHING
) -> list[DescribedConfig]:
    """Return the dynamic values for all brokers (the resource with the empty name), restricted to `names`."""
    entries = []
    for name, text in sorted(config.dynamic_default.items()):
        if name in names:
            shown = _secret_free(name, text)
            synonym = Synonym(name, shown, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
            entries.append(_entry(name, broker_key(name), shown, [synonym], read_only=_is_read_only(name)))
    return entries


def _broker_entry(config: BrokerConfig, name: str, synonyms: list[Synonym]) -> DescribedConfig:
    key = broker_key(name)
    if name in config.given:
        value = _secret_free(name, config.given[name])
    else:
        value = None if key is None or key.type.is_sensitive else key.default
    return _entry(name, key, value, synonyms, read_only=_is_read_only(name))


def _entry(
    name: str, key: ConfigKey | None, value: str | None, synonyms: list[Synonym], *, read_only: bool
) -> DescribedConfig:
    kind = ConfigType.UNKNOWN if key is None else key.type
    return DescribedConfig(
        name=name,
        value=None if kind.is_sensitive else value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        read_only=read_only,
        sensitive=kind.is_sensitive,
        type=kind,
        synonyms=tuple(synonyms),
        doc=None if key is None else key.doc,
    )


def _is_read_only(name: str) -> bool:
    """Return whether Kafka calls a key read-only: every name not in its list of dynamic keys, prefixed names
    too.
    """
    key = BROKER_KEYS.get(name)
    return key is None or not key.is_dynamic


def _synonyms(config: BrokerConfig, name: str) -> list[Synonym]:
    """Return the sources of a key's value, strongest first.

    Kafka leaves out the sources before the first appearance of the key's own name. So a topic whose broker
    sets only `log.retention.hours` has no synonyms for `retention.ms` and calls its source a default.
    """
    found = [
        Synonym(synonym, _secret_free(synonym, layer[synonym]), source)
        for layer, source in (
            (config.dynamic, ConfigSource.DYNAMIC_BROKER_CONFIG),
            (config.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (config.static, ConfigSource.STATIC_BROKER_CONFIG),
            (_DEFAULTS, ConfigSource.DEFAULT_CONFIG),
        )
        for synonym in broker_synonyms(name)
        if synonym in layer
    ]
    first = next((index for index, synonym in enumerate(found) if synonym.name == name), len(found))
    return found[first:]


_DEFAULTS: Mapping[str, str] = {
    name: key.default for name, key in BROKER_KEYS.items() if key.default is not None
}


def _secret_free(name: str, text: str) -> str | None:
    key = broker_key(name)
    return None if key is None or key.type.is_sensitive else _shown(key, text)


def _shown(key: ConfigKey, text: str) -> str | None:
    """Return the value in its canonical form; unchanged if it is not allowed (a newer broker may have stored
    it).
    """
    try:
        value: Value = key.parse(text)
    except ConfigError:
        return text
    return format_value(value)
