"""Batches whose CRC is right and whose header says what no producer says.

Offsets, times and counts stand at the edges of their types. Each batch is taken or refused; the disk is never
at fault, and what was taken survives a kill.
"""

from __future__ import annotations

import random
import struct
import time
from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.records.batch import build_batch, read_header, seal
from kcompat.records.compression import Codec
from kcompat.records.record import Record
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient
from support.raw_requests import (
    create_topic,
    delete_records,
    earliest_offset,
    fetch,
    produce,
    read_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS = 800
NOW = int(time.time() * 1000)
LONGS = (0, 1, -1, -2, 1000, NOW, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63))
INTS = (0, 1, -1, 2, 5, 2**31 - 1, -(2**31))
SHORTS = (0, 1, 2, 3, 4, 5, 8, 16, 32, 64, -1, 2**15 - 1, -(2**15))
FIELDS = (
    (">q", 0, LONGS), (">i", 12, INTS), (">h", 21, SHORTS), (">i", 23, INTS), (">q", 27, LONGS),
    (">q", 35, LONGS), (">q", 43, LONGS), (">h", 51, SHORTS), (">i", 53, INTS), (">i", 57, INTS),
)  # fmt: skip
"""How each field of a batch header is packed, where it stands, and what to write there."""
TOPICS = {
    "small-segments": {"segment.bytes": "4000", "retention.ms": "-1"},
    "small-indexes": {
        "segment.bytes": "20000", "index.interval.bytes": "100", "segment.index.bytes": "100",
        "retention.ms": "-1",
    },
    "append-time": {"message.timestamp.type": "LogAppendTime", "segment.bytes": "8000"},
    "brief": {"segment.ms": "100", "compression.type": "zstd", "retention.ms": "-1"},
}  # fmt: skip


def extreme_batch(rng: random.Random) -> bytearray:
    """A few records at odd times, up to three fields of the header changed, the CRC right."""
    first = rng.choice((0, 1000, NOW, 2**62))
    records = [
        Record(
            at, first + rng.choice((0, at, 1000)), rng.choice((None, b"k")), rng.choice((None, b"v" * 2000))
        )
        for at in range(rng.randrange(1, 5))
    ]
    batch = build_batch(records, codec=rng.choice(tuple(Codec)), producer_id=rng.choice((-1, -1, 5)),
                        producer_epoch=0, base_sequence=rng.choice((0, 1, 2**31 - 1)))  # fmt: skip
    for form, position, values in rng.sample(FIELDS, rng.randrange(4)):
        struct.pack_into(form, batch, position, rng.choice(values))
    seal(batch, read_header(batch).attributes)
    return batch


def look(client: RawClient, topic: str, rng: random.Random) -> int:
    """The error of one way or another to read a topic."""
    if rng.random() < 0.5:
        return int(fetch(client, topic, rng.choice((0, 5, rng.randrange(300), *LONGS))).error_code)
    row = ListOffsetsRequest.ListOffsetsTopic
    asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=rng.choice((-3, -4, *LONGS)))
    request = ListOffsetsRequest(topics=[row(name=topic, partitions=[asked])])
    return int(client.call(request, 9).topics[0].partitions[0].error_code)


def contents(client: RawClient, topic: str) -> Iterator[tuple[object, ...]]:
    start = earliest_offset(client, topic)
    return (
        (each.offset, each.timestamp, each.key, each.value) for each in read_all(client, topic, offset=start)
    )


@pytest.mark.parametrize("seed", range(3))
def test_extreme_batches_are_taken_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    seen: set[int] = set()
    with KcompatBroker({"log.retention.check.interval.ms": "300"}) as broker:
        with RawClient(("127.0.0.1", broker.port)) as client:
            for topic, configs in TOPICS.items():
                assert create_topic(client, topic, configs=configs) == 0
            for _ in range(STEPS):
                topic = rng.choice(tuple(TOPICS))
                if rng.random() < 0.7:
                    seen.add(produce(client, topic, extreme_batch(rng)).error_code)
                elif rng.random() < 0.03:
                    seen.add(delete_records(client, topic, rng.choice((-1, 3, 2**63 - 1, -5))).error_code)
                else:
                    seen.add(look(client, topic, rng))
            before = {topic: list(contents(client, topic)) for topic in TOPICS}
        broker.kill()
        broker.start()
        with RawClient(("127.0.0.1", broker.port)) as client:
            after = {topic: list(contents(client, topic)) for topic in before}
        assert "Traceback" not in broker.log_tail(1_000_000)
    assert after == before
    assert all(before.values())
    assert {ErrorCode.NONE, ErrorCode.INVALID_RECORD, ErrorCode.OFFSET_OUT_OF_RANGE} <= seen
    assert not seen & {ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR}
