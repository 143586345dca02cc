"""The settings of a log and of the log cleaner."""

from __future__ import annotations

from functools import cached_property
from zlib import crc32

import msgspec

from kcompat.records.compression import Codec, Compression

MAX_LONG = 2**63 - 1


class LogConfig(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Topic configs that storage uses; times in ms, sizes in bytes, names as Kafka's keys.

    Properties that every produced batch needs are computed once and cached beside the fields (`dict`).
    """

    segment_bytes: int
    segment_ms: int
    segment_jitter_ms: int
    segment_index_bytes: int
    index_interval_bytes: int
    retention_ms: int
    retention_bytes: int
    file_delete_delay_ms: int
    max_message_bytes: int
    cleanup_policy: frozenset[str]
    flush_messages: int
    flush_ms: int
    timestamp_type: str
    compression_type: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    preallocate: bool
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    delete_retention_ms: int
    min_cleanable_dirty_ratio: float
    message_downconversion_enable: bool
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int

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

    enabled: bool
    threads: int
    backoff_ms: int
    dedupe_buffer_bytes: int
    load_factor: float
    bytes_per_second: float
