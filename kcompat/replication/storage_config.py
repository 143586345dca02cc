"""Settings of logs from their topics' configuration, and of the log cleaner from the broker's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.config import CleanerConfig, LogConfig

if TYPE_CHECKING:
    from kcompat.config.broker import BrokerConfig
    from kcompat.config.topic import TopicConfig


def log_config(topic: TopicConfig) -> LogConfig:
    """Return the part of a topic's configuration that applies to its logs."""
    return LogConfig(
        segment_bytes=topic.segment_bytes,
        segment_ms=topic.segment_ms,
        segment_jitter_ms=topic.segment_jitter_ms,
        segment_index_bytes=topic.segment_index_bytes,
        index_interval_bytes=topic.index_interval_bytes,
        retention_ms=topic.retention_ms,
        retention_bytes=topic.retention_bytes,
        file_delete_delay_ms=topic.file_delete_delay_ms,
        max_message_bytes=topic.max_message_bytes,
        cleanup_policy=frozenset(topic.cleanup_policy),
        flush_messages=topic.flush_messages,
        flush_ms=topic.flush_ms,
        timestamp_type=topic.message_timestamp_type,
        compression_type=topic.compression_type,
        compression_gzip_level=topic.compression_gzip_level,
        compression_lz4_level=topic.compression_lz4_level,
        compression_zstd_level=topic.compression_zstd_level,
        preallocate=topic.preallocate,
        min_compaction_lag_ms=topic.min_compaction_lag_ms,
        max_compaction_lag_ms=topic.max_compaction_lag_ms,
        delete_retention_ms=topic.delete_retention_ms,
        min_cleanable_dirty_ratio=topic.min_cleanable_dirty_ratio,
        message_downconversion_enable=topic.message_downconversion_enable,
        message_timestamp_before_max_ms=topic.message_timestamp_before_max_ms,
        message_timestamp_after_max_ms=topic.message_timestamp_after_max_ms,
    )


def cleaner_config(broker: BrokerConfig) -> CleanerConfig:
    """Return the settings in the broker's `log.cleaner.*` keys."""
    return CleanerConfig(
        enabled=bool(broker.get("log.cleaner.enable")),
        threads=broker.integer("log.cleaner.threads"),
        backoff_ms=broker.integer("log.cleaner.backoff.ms"),
        dedupe_buffer_bytes=broker.integer("log.cleaner.dedupe.buffer.size"),
        load_factor=broker.double("log.cleaner.io.buffer.load.factor"),
        bytes_per_second=broker.double("log.cleaner.io.max.bytes.per.second"),
    )
