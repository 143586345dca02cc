"""The settings of a log and of the log cleaner, with Kafka's defaults (LogConfig, CleanerConfig)."""

from __future__ import annotations

from functools import cached_property
from zlib import crc32

import msgspec

from kcompat.records.compression import DEFAULT_LEVELS, Codec, Compression

MAX_LONG = 2**63 - 1


class LogConfig(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Topic configs that storage uses; times in ms, sizes in bytes, names as Kafka's keys.

    Properties that every produced batch needs are computed once and cached beside the fields (`dict`).
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    retention_ms: int = 604_800_000
    retention_bytes: int = -1
    file_delete_delay_ms: int = 60_000
    max_message_bytes: int = 1_048_588
    cleanup_policy: frozenset[str] = frozenset({"delete"})
    flush_messages: int = MAX_LONG
    flush_ms: int = MAX_LONG
    timestamp_type: str = "CreateTime"
    compression_type: str = "producer"
    compression_gzip_level: int = DEFAULT_LEVELS[Codec.GZIP]
    compression_lz4_level: int = DEFAULT_LEVELS[Codec.LZ4]
    compression_zstd_level: int = DEFAULT_LEVELS[Codec.ZSTD]
    preallocate: bool = False
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = MAX_LONG
    delete_retention_ms: int = 86_400_000
    min_cleanable_dirty_ratio: float = 0.5
    message_downconversion_enable: bool = True
    message_timestamp_before_max_ms: int = MAX_LONG
    message_timestamp_after_max_ms: int = MAX_LONG

    @cached_property
    def compacts(self) -> bool:
        """Whether `cleanup.policy` contains compact."""
        return "compact" in self.cleanup_policy

    @property
    def deletes(self) -> bool:
        """Whether `cleanup.policy` contains delete."""
        return "delete" in self.cleanup_policy

    @property
    def stamps_append_time(self) -> bool:
        """Whether `message.timestamp.type` is LogAppendTime."""
        return self.timestamp_type == "LogAppendTime"

    @cached_property
    def compression(self) -> Compression | None:
        """Compression that the leader applies to batches with another codec; None keeps the producer's."""
        match self.compression_type:
            case "producer":
                return None
            case "gzip":
                return Compression(Codec.GZIP, self.compression_gzip_level)
            case "lz4":
                return Compression(Codec.LZ4, self.compression_lz4_level)
            case "zstd":
                return Compression(Codec.ZSTD, self.compression_zstd_level)
            case "snappy":
                return Compression(Codec.SNAPPY)
        return Compression(Codec.NONE)

    @property
    def roll_ms(self) -> int:
        """Longest time in ms that a segment is written to.

        In a compacted topic it is at most `max.compaction.lag.ms`, as the cleaner skips the active segment.
        """
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compacts else self.segment_ms

    def jitter_ms_of(self, path: str) -> int:
        """Return how much earlier than others the segment at `path` is rolled (`segment.jitter.ms`).

        The last two parts of the path decide, so that it stays the same for as long as the segment is active.
        """
        jitter_ms = min(self.segment_jitter_ms, self.roll_ms)
        if jitter_ms <= 0:
            return 0
        directory, name = path.rsplit("/", 2)[-2:]
        return crc32(f"{directory}/{name}".encode()) % (jitter_ms + 1)


class CleanerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The broker's `log.cleaner.*` keys; times in ms, sizes in bytes.

    All cleaner threads share the buffer and the rate.
    """

    enabled: bool = True
    threads: int = 1
    backoff_ms: int = 15_000
    dedupe_buffer_bytes: int = 128 << 20
    load_factor: float = 0.9
    bytes_per_second: float = 1.7976931348623157e308
