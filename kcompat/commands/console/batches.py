"""Batches that a console producer fills: one for each partition, in the order of their records."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Final

from kcompat.records.batch import frame_body
from kcompat.records.layout import HEADER_SIZE, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from kcompat.records.partitioner import partition_for_key
from kcompat.records.record import append_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.commands.console.lines import Line
    from kcompat.records.compression import Codec

NO_PRODUCER: Final = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
_RECORD_OVERHEAD: Final = 21
"""Maximum number of bytes of a record besides key, value and headers: `DefaultRecord.MAX_RECORD_OVERHEAD`."""


def upper_size(line: Line) -> int:
    """Return the bytes that a record needs at most, with the header of its batch, as Java counts them."""
    size = HEADER_SIZE + _RECORD_OVERHEAD + _sized(line.key) + _sized(line.value)
    size += _varint_size(len(line.headers))
    for name, value in line.headers:
        size += _sized(name.encode()) + _sized(value)
    return size


def _sized(data: bytes | None) -> int:
    return 1 if data is None else _varint_size(len(data)) + len(data)


def _varint_size(number: int) -> int:
    return max(1, -(-(number << 1).bit_length() // 7))


class Batch:
    """The records of one batch, with what is needed to report the records that fail."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.sizes: list[tuple[int | None, int | None]] = []
        """Bytes of key and value of each record; None for a null."""
        self.first_at = time.monotonic()
        """Arrival of the first record, in seconds of the monotonic clock."""
        self.failures = 0
        self.producer = NO_PRODUCER
        """Producer id and epoch; set when the batch is sent for the first time, and kept after that."""
        self.sequence = NO_SEQUENCE
        self._body = bytearray()
        self._base_timestamp = self._newest = -1

    def add(self, line: Line, timestamp_ms: int) -> None:
        """Append a record."""
        if not self.sizes:
            self._base_timestamp = timestamp_ms
        self._newest = max(self._newest, timestamp_ms)
        append_record(
            self._body,
            timestamp_ms - self._base_timestamp,
            len(self.sizes),
            line.key,
            line.value,
            line.headers,
        )
        self.sizes.append((_length(line.key), _length(line.value)))

    @property
    def size(self) -> int:
        """Bytes of the batch before compression."""
        return HEADER_SIZE + len(self._body)

    def encode(self, codec: Codec) -> bytearray:
        """Return the bytes of the batch."""
        producer = (*self.producer, self.sequence)
        return frame_body(
            self._body, int(codec), len(self.sizes), self._base_timestamp, self._newest, producer=producer
        )


def _length(data: bytes | None) -> int | None:
    return None if data is None else len(data)


class Partitioner:
    """Choice of a partition: by the key, or else one at random that stays until a batch is full (KIP-794)."""

    def __init__(self, batch_size: int) -> None:
        """`batch_size` is in bytes."""
        self._batch_size = batch_size
        self._sticky = -1
        self._filled = 0

    def choose(self, line: Line, partitions: int, available: Sequence[int], size: int) -> int:
        """Return the partition of a record of `size` bytes; `available` are the partitions with a leader."""
        if line.key is not None:
            return partition_for_key(line.key, partitions)
        if self._sticky < 0 or self._filled >= self._batch_size or self._sticky not in available:
            self._sticky = random.choice(available or range(partitions))  # noqa: S311
            self._filled = 0
        self._filled += size
        return self._sticky
