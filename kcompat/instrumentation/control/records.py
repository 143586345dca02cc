"""Records of topics, by the control port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from kcompat.instrumentation.adding import add_records
from kcompat.instrumentation.control.data import Data, NewData, bytes_of, shown
from kcompat.instrumentation.control.topics import insist_on_topic
from kcompat.instrumentation.new_records import AddedRecord, NewRecord, prepared
from kcompat.instrumentation.reading import Isolation, read_topic, size_of

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control
    from kcompat.instrumentation.records import Record

MAX_BYTES: Final = 16 * 1024 * 1024
"""Bytes of keys and values after which no further records are listed."""

Index = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Limit = Annotated[int, Meta(ge=1, le=10_000, description="The largest number of records.")]


class Header(Struct, frozen=True, forbid_unknown_fields=True):
    """A header of a record."""

    name: str
    value: Data = None


class HeaderToAdd(Struct, frozen=True, forbid_unknown_fields=True):
    """A header of a record to append."""

    name: str
    value: NewData = None


class RecordToAdd(Struct, forbid_unknown_fields=True):
    """A record to append to a topic."""

    value: NewData
    key: NewData = None
    headers: list[HeaderToAdd] = []
    partition: Annotated[
        Index | None, Meta(description="By default the one that a Java producer chooses by the key.")
    ] = None
    timestamp: Annotated[
        Offset | None, Meta(description="Milliseconds since 1970; the present by default.")
    ] = None


class RecordsToAdd(Struct, forbid_unknown_fields=True):
    """Records to append to one topic."""

    topic: str
    records: list[RecordToAdd]


class AddedRecords(Struct):
    """The places of added records, in the order of the request."""

    records: list[AddedRecord]


class WhichRecords(Struct, forbid_unknown_fields=True):
    """The choice of records of a topic."""

    topic: str
    partition: Annotated[Index | None, Meta(description="All partitions by default.")] = None
    isolation: Annotated[
        Isolation, Meta(description="read_committed leaves out what a transaction has not committed.")
    ] = "read_uncommitted"
    start: Annotated[Offset, Meta(description="The lowest offset in each partition.")] = 0
    limit: Limit = 1000


class TopicRecord(Struct):
    """A record of a topic."""

    partition: int
    offset: int
    timestamp: int
    timestamp_type: str
    key: Data
    value: Data
    headers: list[Header]
    producer_id: Annotated[int, Meta(description="-1 for a producer that is not idempotent.")]
    producer_epoch: int
    sequence: int
    is_transactional: bool


class TopicRecords(Struct):
    """Records of a topic, by partition and offset."""

    records: list[TopicRecord]
    more: Annotated[
        bool, Meta(description="Whether there may be more, since the limit or 16 MB are reached.")
    ]


async def add_to_topic(control: Control, new: RecordsToAdd) -> AddedRecords:
    """Append records to a topic.

    The answer comes when all in-sync replicas have them. A topic that does not exist is created if
    auto.create.topics.enable is set.
    """
    return AddedRecords(
        await add_records(control.brokers, new.topic, [prepared(_read(each)) for each in new.records])
    )


async def list_records(control: Control, which: WhichRecords) -> TopicRecords:
    """List the records of a topic that consumers can read now."""
    insist_on_topic(control, which.topic)
    found = await read_topic(
        control.brokers,
        which.topic,
        which.partition,
        which.isolation,
        start=which.start,
        limit=which.limit,
        max_bytes=MAX_BYTES,
    )
    is_full = len(found) == which.limit or sum(map(size_of, found)) >= MAX_BYTES
    return TopicRecords([listed(each) for each in found], is_full)


def _read(new: RecordToAdd) -> NewRecord:
    headers = [(each.name, bytes_of(each.value)) for each in new.headers]
    return NewRecord(bytes_of(new.value), bytes_of(new.key), headers, new.partition, new.timestamp)


def listed(record: Record) -> TopicRecord:
    """Return a record in its JSON form."""
    return TopicRecord(
        record.partition,
        record.offset,
        record.timestamp,
        record.timestamp_type,
        shown(record.key),
        shown(record.value),
        [Header(name, shown(value)) for name, value in record.headers],
        record.producer_id,
        record.producer_epoch,
        record.sequence,
        record.is_transactional,
    )
