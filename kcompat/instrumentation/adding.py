"""Appending records to topics of running brokers, as a producer with `acks=all` does."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kcompat.errors import RequestError, UsageError
from kcompat.instrumentation.asking import ask
from kcompat.instrumentation.new_records import AddedRecord
from kcompat.instrumentation.reading import partitions_of
from kcompat.protocol.constants import ACKS_ALL
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import frame_body
from kcompat.records.layout import HEADER_SIZE
from kcompat.records.partitioner import partition_for_key
from kcompat.records.record import append_record
from kcompat.topics import name_problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from kcompat.instrumentation.brokers import Brokers
    from kcompat.instrumentation.new_records import PreparedRecord
    from kcompat.replication.partition import Partition

TIMEOUT_S: Final = 30.0
"""Longest time in seconds until the in-sync replicas have a batch."""

_PRODUCE_VERSION: Final = 12  # the last one that names topics
_METADATA_VERSION: Final = 12
_LARGEST_BATCH: Final = 1024 * 1024
_RECORDS_AT_ONCE: Final = 256
"""Number of records that are encoded in one iteration of the event loop: about a millisecond of work."""


async def add_records(brokers: Brokers, topic: str, records: Sequence[PreparedRecord]) -> list[AddedRecord]:
    """Append records to a topic, which is created if `auto.create.topics.enable` is set, and return their
    places in the same order, once all in-sync replicas have them.

    The records of a partition are appended in batches of up to `max.message.bytes`. If a batch is refused,
    the batches before it stay.

    Raises:
        UsageError: the topic does not exist and is not created, or has no such partition.
        RequestError: a broker refuses a record or the creation of the topic, or a partition has no leader.
        TimeoutError: the in-sync replicas do not have the records after 30 seconds.
    """
    async with brokers.steady():
        await _ensure_topic(brokers, topic)
        return await _add(brokers, topic, records)


async def _add(brokers: Brokers, topic: str, records: Sequence[PreparedRecord]) -> list[AddedRecord]:
    added: dict[int, AddedRecord] = {}
    for index, places in _choose(brokers, topic, records).items():
        _, partition = await brokers.elected(topic, index)
        now_ms = brokers.now_ms
        async for batch in _batches(partition, [(place, records[place]) for place in places], now_ms):
            base_offset, append_time = await _produce(brokers, partition, batch)
            for offset, place in enumerate(batch.places, base_offset):
                timestamp = _time(records[place], now_ms) if append_time < 0 else append_time
                added[place] = AddedRecord(topic, index, offset, timestamp)
    return [added[place] for place in range(len(records))]


async def _ensure_topic(brokers: Brokers, topic: str) -> None:
    """Have the topic created as for a client that asks for it, unless it exists."""
    problem = name_problem(topic) if isinstance(topic, str) else "it is no text"
    if problem is not None:
        raise UsageError(f"{topic!r} is not a name that topics can have: {problem}")
    if topic in brokers.image.topics:
        return
    requested = MetadataRequest.MetadataRequestTopic(name=topic)
    response = await ask(brokers.parts[0], MetadataRequest(topics=[requested]), _METADATA_VERSION)
    error = error_of(response.topics[0].error_code)
    if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise UsageError(
            f"there is no topic {topic!r}, and auto.create.topics.enable is false: create the topic first"
        )
    if error not in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE):
        raise RequestError(error.name, f"the topic {topic!r} cannot be created: {error.message}")
    await brokers.until_led(topic)


def _choose(brokers: Brokers, topic: str, records: Sequence[PreparedRecord]) -> dict[int, list[int]]:
    """Return the places of the records for each partition.

    Without a partition and a key, a record goes to the partition that ends at the lowest offset: so that
    single records go to the partitions in turn.
    """
    known = brokers.topic(topic).partitions
    homes = {index: brokers.home_of(topic, index) for index in known}
    ends = {index: home[1].log.log_end_offset for index, home in homes.items() if home is not None}
    chosen: defaultdict[int, list[int]] = defaultdict(list)
    for place, record in enumerate(records):
        if record.partition is not None:
            (index,) = partitions_of(brokers, topic, record.partition)
        elif record.key is not None:
            index = partition_for_key(record.key, len(known))
        else:
            index = min(ends, key=ends.__getitem__, default=0)
        if index in ends:
            ends[index] += 1
        chosen[index].append(place)
    return chosen


class _Batch(Struct):
    """A batch, and the places of its records among those to add."""

    places: list[int]
    records: memoryview


async def _batches(
    partition: Partition, records: Iterable[tuple[int, PreparedRecord]], now_ms: int
) -> AsyncIterator[_Batch]:
    """Yield the records of a partition, each with its place, in batches as large as the topic allows. A
    record that is larger has a batch of its own.
    """
    config = partition.log.config
    most = min(config.max_message_bytes, config.segment_bytes, _LARGEST_BATCH) - HEADER_SIZE
    places: list[int] = []
    body, base, newest = bytearray(), 0, 0
    for count, (place, record) in enumerate(records):
        if count % _RECORDS_AT_ONCE == 0:
            await asyncio.sleep(0)  # let the broker serve its clients
        timestamp = _time(record, now_ms)
        for _ in range(2):
            if not places:
                base = newest = timestamp
            before = len(body)
            append_record(body, timestamp - base, len(places), record.key, record.value, record.headers)
            if len(body) <= most or not places:
                break
            del body[before:]
            yield _Batch(places, memoryview(frame_body(body, 0, len(places), base, newest)))
            places, body = [], bytearray()
        newest = max(newest, timestamp)
        places.append(place)
    if places:
        yield _Batch(places, memoryview(frame_body(body, 0, len(places), base, newest)))


def _time(record: PreparedRecord, now_ms: int) -> int:
    return now_ms if record.timestamp is None else record.timestamp


async def _produce(brokers: Brokers, partition: Partition, batch: _Batch) -> tuple[int, int]:
    """Append a batch with `acks=all`; return its base offset, and the time that the broker set or -1."""
    topic, index = partition.topic, partition.index
    data = ProduceRequest.PartitionProduceData(index, batch.records)
    request = ProduceRequest(
        acks=ACKS_ALL,
        timeout_ms=int(TIMEOUT_S * 1000),
        topic_data=[ProduceRequest.TopicProduceData(topic, partition_data=[data])],
    )
    response = await _answer_of_leader(brokers, partition, request)
    row = response.responses[0].partition_responses[0]
    error = error_of(row.error_code)
    match error:
        case ErrorCode.NONE:
            return row.base_offset, row.log_append_time_ms
        case ErrorCode.REQUEST_TIMED_OUT:
            raise TimeoutError(
                f"not all in-sync replicas of partition {index} of {topic!r} have the record "
                f"within {TIMEOUT_S:.0f} s"
            )
        case ErrorCode.MESSAGE_TOO_LARGE:
            most = partition.log.config.max_message_bytes
            reason = f"it has {len(batch.records)} bytes, and max.message.bytes of the topic is {most}"
        case _:
            details = [each.batch_index_error_message for each in row.record_errors]
            reason = next(filter(None, details), None) or row.error_message or error.message
    raise RequestError(error.name, f"partition {index} of {topic!r} refuses the record: {reason}")


async def _answer_of_leader(brokers: Brokers, partition: Partition, request: ProduceRequest) -> Any:
    """Return the response of a partition's leader. Raises RequestError if it was killed before."""
    topic, index = partition.topic, partition.index
    leader, _ = brokers.leader_of(topic, index)
    answer = asyncio.ensure_future(ask(leader, request, _PRODUCE_VERSION))
    await asyncio.sleep(0)
    if not answer.done():  # it waits for followers
        gone = asyncio.ensure_future(brokers.until(lambda: leader not in brokers.parts, topic))
        try:
            await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not answer.done():
                answer.cancel()
    if answer.cancelled() or not answer.done():
        raise RequestError(
            ErrorCode.NETWORK_EXCEPTION.name,
            f"the leader of partition {index} of {topic!r} was killed before it confirmed the record, "
            "which may be lost or not",
        )
    return answer.result()
