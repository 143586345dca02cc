"""Reading the records of topics from the logs of running brokers, as a consumer would."""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, Final, Literal

from kcompat.errors import RequestError, UsageError
from kcompat.instrumentation.records import Record
from kcompat.log.files import FileRange
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.records.aborted import AbortedBatches
from kcompat.records.batch import crc_matches, read_header, read_records, whole_batches
from kcompat.records.compression import DEFAULT_MAX_MESSAGE_BYTES
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import MAGIC, MAGIC_AT, NO_SEQUENCE, NO_TIMESTAMP
from kcompat.records.message_set import MAGIC_V0, read_messages
from kcompat.replication.reading import READ_COMMITTED, READ_UNCOMMITTED, FetchSpec, PartitionReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcompat.instrumentation.brokers import Brokers
    from kcompat.records.batch import BatchHeader
    from kcompat.topics import TopicPartition

Isolation = Literal["read_uncommitted", "read_committed"]

MOST_RECORDS: Final = 100_000
"""Number of records that are read unless the caller names a limit."""
READ_BYTES: Final = 128 * 1024
"""Bytes of a log that are read and decoded at once: about a millisecond of work, during which the broker
serves no clients. A larger batch is read as a whole.
"""
_ISOLATION_LEVELS: Final = {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED}


async def read_topic(
    brokers: Brokers,
    topic: str,
    partition: int | None = None,
    isolation: Isolation = "read_uncommitted",
    *,
    start: int = 0,
    limit: int | None = None,
    max_bytes: float = inf,
) -> list[Record]:
    """Return the current records of all partitions of a topic, or of one, by partition and offset.

    Records below the offset `start` of each partition are left out, and so are control records, and with
    the isolation `read_committed` the records of transactions that were aborted or are still open. `limit` is
    the largest number of records, and no more are read after `max_bytes` bytes of keys and values.

    Raises:
        UsageError: the topic or the partition does not exist, an argument is not valid, or there is no
            `limit` and more than `MOST_RECORDS` records.
        RequestError: a partition has no leader, or cannot be read.
    """
    check_isolation(isolation)
    check_whole_number("start", start)
    if limit is not None:
        check_whole_number("limit", limit)
    async with brokers.steady():
        indexes = partitions_of(brokers, topic, partition)
        for index in indexes:
            await brokers.elected(topic, index)
        cursors = [Cursor(topic, index, isolation, start) for index in indexes]
        return await _read(brokers, cursors, limit, max_bytes)


async def _read(
    brokers: Brokers, cursors: Iterable[Cursor], limit: int | None, max_bytes: float
) -> list[Record]:
    """Return the records from the positions of the cursors up to the current ends."""
    found: list[Record] = []
    size = 0
    for cursor, end in [(cursor, cursor.end(brokers)) for cursor in cursors]:
        while cursor.position < end and size < max_bytes and (limit is None or len(found) < limit):
            read = [record for record in cursor.read(brokers) if record.offset < end]
            found += read
            size += sum(map(size_of, read))
            if limit is None and len(found) > MOST_RECORDS:
                raise UsageError(
                    f"{cursor.topic!r} has more than {MOST_RECORDS:,} records: "
                    "name a partition, a start or a limit"
                )
            await asyncio.sleep(0)  # let the broker serve its clients
    return found if limit is None else found[:limit]


def size_of(record: Record) -> int:
    """Return the bytes of the key and the value of a record."""
    return len(record.key or b"") + len(record.value or b"")


def check_isolation(isolation: str) -> None:
    """Raise UsageError unless this is the name of an isolation level."""
    if isolation not in _ISOLATION_LEVELS:
        raise UsageError(f"isolation={isolation!r} is not one of {', '.join(_ISOLATION_LEVELS)}")


def check_whole_number(name: str, value: int) -> None:
    """Raise UsageError unless an argument is an integer of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"{name}={value!r} is not possible: use a whole number from 0 on")


def partitions_of(brokers: Brokers, topic: str, partition: int | None) -> list[int]:
    """Return the indexes of all partitions of a topic, or of the one given. Raises UsageError if the topic
    does not exist, or has no such partition.
    """
    known = brokers.topic(topic).partitions
    if partition is None:
        return list(known)
    if partition not in known:
        raise UsageError(f"{topic!r} has no partition {partition!r}: it has 0 to {len(known) - 1}")
    return [partition]


class Cursor:
    """A position in a partition, from which records are read up to where consumers can read."""

    __slots__ = ("_reader", "index", "position", "topic")

    def __init__(self, topic: str, index: int, isolation: Isolation, position: int) -> None:
        self.topic = topic
        self.index = index
        self.position = position
        """Offset of the next record to read."""
        self._reader = PartitionReader(_ISOLATION_LEVELS[isolation])

    def end(self, brokers: Brokers) -> int:
        """Return the offset up to which consumers can read now. Raises RequestError if there is no leader."""
        _, partition = brokers.leader_of(self.topic, self.index)
        is_committed = self._reader.isolation_level == READ_COMMITTED
        return partition.last_stable_offset if is_committed else partition.high_watermark

    def read(self, brokers: Brokers) -> list[Record]:
        """Read some records, and advance the position; an empty list does not mean that there are no more.

        Raises RequestError.
        """
        end = self.end(brokers)
        _, partition = brokers.leader_of(self.topic, self.index)
        start = max(self.position, partition.log.log_start_offset)
        if start >= end:
            self.position = start
            return []
        fetched = partition.fetch(FetchSpec(start, READ_BYTES), self._reader, READ_BYTES, min_one_batch=True)
        if fetched.error:
            error = error_of(fetched.error)
            raise RequestError(error.name, f"partition {self.index} of {self.topic!r}: {error.message}")
        data = fetched.records.read() if isinstance(fetched.records, FileRange) else b""
        try:
            records, next_offset = decode(
                data, (self.topic, self.index), fetched.aborted or (), partition.log.config.max_message_bytes
            )
        except RecordsDamaged as damage:
            raise RequestError(
                ErrorCode.CORRUPT_MESSAGE.name,
                f"the log of partition {self.index} of {self.topic!r} is damaged behind offset {start}: "
                f"{damage}",
            ) from damage
        # No data below the end: compaction has removed the records there.
        self.position = end if next_offset is None else next_offset
        return [record for record in records if record.offset >= start]


def decode(
    data: bytes,
    partition: TopicPartition,
    aborted: Iterable[tuple[int, int]] = (),
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
) -> tuple[list[Record], int | None]:
    """Return the records that a consumer sees in data of a log, and the offset after the last whole batch,
    None if there is no whole batch.

    `aborted` are the aborted transactions in the data, as (producer id, first offset). Raises RecordsDamaged.
    """
    left_out = AbortedBatches(aborted)
    max_bytes = max(max_message_bytes, DEFAULT_MAX_MESSAGE_BYTES)
    found: list[Record] = []
    next_offset = None
    for batch in whole_batches(memoryview(data)):
        if batch[MAGIC_AT] != MAGIC:
            messages = list(_old_records(partition, batch, max_bytes))
            found += messages
            next_offset = messages[-1].offset + 1
            continue
        header = read_header(batch)
        next_offset = header.next_offset
        if not crc_matches(batch, 0, len(batch)):
            raise RecordsDamaged(f"the CRC of the batch at offset {header.base_offset} is wrong")
        if not left_out.include(header, batch) and not header.is_control:
            found += _records(partition, header, batch, max_bytes)
    return found, next_offset


def _records(
    partition: TopicPartition, header: BatchHeader, batch: memoryview, max_bytes: int
) -> Iterator[Record]:
    kind = "LogAppendTime" if header.uses_log_append_time else "CreateTime"
    producer = header.producer_id, header.producer_epoch
    first, base, is_transactional = header.base_sequence, header.base_offset, header.is_transactional
    for record in read_records(batch, max_bytes):
        offset = record.offset
        sequence = NO_SEQUENCE if first < 0 else first + offset - base & 0x7FFFFFFF
        yield Record(
            *partition, offset, record.timestamp, kind, record.key, record.value, record.headers,
            *producer, sequence, is_transactional,
        )  # fmt: skip


def _old_records(partition: TopicPartition, message: memoryview, max_bytes: int) -> Iterator[Record]:
    """Yield the records of a message of an old format, which may be a wrapper."""
    for each in read_messages(message, max_bytes):
        kind = "LogAppendTime" if each.uses_log_append_time else "CreateTime"
        if each.magic == MAGIC_V0 or each.timestamp == NO_TIMESTAMP:
            kind = "NoTimestampType"
        yield Record(*partition, each.offset, each.timestamp, kind, each.key, each.value)
