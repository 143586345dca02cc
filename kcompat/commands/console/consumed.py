"""Records as a consumer sees them in the data of a fetch: without markers and aborted transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from kcompat.commands.offsets import Offset
from kcompat.records.aborted import AbortedBatches
from kcompat.records.batch import crc_matches, read_header, read_records, whole_batches
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import MAGIC, MAGIC_AT, NO_TIMESTAMP
from kcompat.records.message_set import MAGIC_V0, read_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcompat.records.batch import BatchHeader
    from kcompat.topics import TopicPartition

_MOST_BYTES: Final = (1 << 31) - 1


class Consumed(msgspec.Struct, frozen=True, gc=False):
    """A record of a partition, as a consumer gets it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: str
    """`CreateTime`, `LogAppendTime` or `NoTimestampType`."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def seen_records(
    partition: TopicPartition, data: Any, aborted: Iterable[tuple[int, int]], *, checks_crcs: bool
) -> Iterator[tuple[list[Consumed], Offset]]:
    """Yield the records of each batch that a consumer sees, and the position behind the batch.

    `aborted` are the aborted transactions in the data, as (producer id, first offset). Raises RecordsDamaged.
    """
    left_out = AbortedBatches(aborted)
    for batch in whole_batches(memoryview(data)):
        if batch[MAGIC_AT] != MAGIC:
            old = list(_old_records(partition, batch))
            yield old, Offset(old[-1].offset + 1)
            continue
        header = read_header(batch)
        if checks_crcs and not crc_matches(batch, 0, len(batch)):
            raise RecordsDamaged(f"the CRC of the batch at offset {header.base_offset} is wrong")
        is_hidden = left_out.include(header, batch) or header.is_control
        position = Offset(header.next_offset, header.leader_epoch)
        yield [] if is_hidden else _records(partition, header, batch), position


def _records(partition: TopicPartition, header: BatchHeader, batch: memoryview) -> list[Consumed]:
    kind = "LogAppendTime" if header.uses_log_append_time else "CreateTime"
    topic, index = partition
    return [
        Consumed(topic, index, each.offset, each.timestamp, kind, each.key, each.value, each.headers)
        for each in read_records(batch, _MOST_BYTES)
    ]


def _old_records(partition: TopicPartition, message: memoryview) -> Iterator[Consumed]:
    """Yield the records of a message of an old format, which may be a wrapper."""
    for each in read_messages(message, _MOST_BYTES):
        kind = "LogAppendTime" if each.uses_log_append_time else "CreateTime"
        if each.magic == MAGIC_V0 or each.timestamp == NO_TIMESTAMP:
            kind = "NoTimestampType"
        yield Consumed(*partition, each.offset, each.timestamp, kind, each.key, each.value)
