"""A topic's configuration: overrides over the broker's values, checked and typed (Kafka's `LogConfig`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.config.errors import ConfigError
from kcompat.config.table import TOPIC_CONFIG_SYNONYMS, TOPIC_KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.types import Value

_UNLIMITED = 2**63 - 1


class TopicConfig(Struct, frozen=True, kw_only=True):
    """The effective value of every topic key, named like the key; times in ms, sizes in bytes, -1 for no
    limit.
    """

    cleanup_policy: list[str]
    compression_gzip_level: int
    compression_lz4_level: int
    compression_type: str
    compression_zstd_level: int
    delete_retention_ms: int
    file_delete_delay_ms: int
    flush_messages: int
    flush_ms: int
    follower_replication_throttled_replicas: list[str]
    index_interval_bytes: int
    leader_replication_throttled_replicas: list[str]
    local_retention_bytes: int
    local_retention_ms: int
    max_compaction_lag_ms: int
    max_message_bytes: int
    message_downconversion_enable: bool
    message_format_version: str
    message_timestamp_after_max_ms: int
    message_timestamp_before_max_ms: int
    message_timestamp_difference_max_ms: int
    message_timestamp_type: str
    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    min_insync_replicas: int
    preallocate: bool
    remote_log_copy_disable: bool
    remote_log_delete_on_disable: bool
    remote_storage_enable: bool
    retention_bytes: int
    retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    segment_jitter_ms: int
    segment_ms: int
    unclean_leader_election_enable: bool


def topic_config(broker: BrokerConfig, overrides: Mapping[str, str]) -> TopicConfig:
    """Return the configuration of a topic with these overrides on this broker.

    Overrides that Kafka 3.9 does not know are ignored: a newer broker may have stored them.

    Raises:
        ConfigError: an override's value is not allowed. Stored overrides were checked when they were set.
    """
    values = {
        name: key.parse(overrides[name]) if name in overrides else topic_default(broker, name)
        for name, key in TOPIC_KEYS.items()
    }
    for side in ("before", "after"):
        # The older key sets both bounds unless the newer ones are used (KIP-937).
        name = f"message.timestamp.{side}.max.ms"
        if values[name] == _UNLIMITED:
            values[name] = values["message.timestamp.difference.max.ms"]
    # The table gives each key the type that the field has; a test compares the two.
    return TopicConfig(**{name.replace(".", "_"): value for name, value in values.items()})  # type: ignore[arg-type]


def topic_default(broker: BrokerConfig, name: str) -> Value:
    """Return the value of a key for a topic that does not override it.

    It is that of the first corresponding broker key that has a value, or else the default.
    """
    for synonym in TOPIC_CONFIG_SYNONYMS.get(name, ()):
        value = broker.get(synonym.name)
        if value is None:
            continue
        if name == "retention.ms" and isinstance(value, int):
            return -1 if value < 0 else value * synonym.factor
        return value * synonym.factor if isinstance(value, int) and synonym.factor != 1 else value
    return TOPIC_KEYS[name].default_value


def check_topic_overrides(overrides: Mapping[str, str], broker: BrokerConfig) -> None:
    """Check the configs that a client wants to set for a topic, by Kafka's rules (`LogConfig.validate`).

    Raises:
        ConfigError: an unknown key, a value that is not allowed, or two values that contradict each other.
            The message is Kafka's; the error code is INVALID_CONFIG(40).
    """
    for name in overrides:
        if name not in TOPIC_KEYS:
            raise ConfigError(f"Unknown topic config name: {name}")
    config = topic_config(broker, overrides)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise ConfigError(
            f"conflict topic config setting min.compaction.lag.ms ({config.min_compaction_lag_ms}) > "
            f"max.compaction.lag.ms ({config.max_compaction_lag_ms})"
        )
    if config.remote_storage_enable:
        raise ConfigError(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )


def check_new_topic(configs: Mapping[str, str | None], broker: BrokerConfig) -> dict[str, str]:
    """Return the checked overrides of a topic to be created; null values are refused.

    Raises:
        ConfigError: see `check_topic_overrides`; to be answered with INVALID_CONFIG(40).
    """
    nulls = [name for name, value in configs.items() if value is None]
    if nulls:
        raise ConfigError(f"Null value not supported for topic configs: {','.join(nulls)}")
    overrides = {name: value for name, value in configs.items() if value is not None}
    check_topic_overrides(overrides, broker)
    return overrides
