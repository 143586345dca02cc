"""Answers of a leader to damaged, lying and unusual batches: the same table for a real Kafka and for us.

Each case names the error of a real Kafka 3.9.2. Where ours differs, the table says so beside it.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest
from crc32c import crc32c

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import assign, build_batch
from kcompat.records.compression import Codec
from kcompat.records.record import Record
from support.raw_client import RawClient
from support.raw_requests import create_topic, fetch, produce

if TYPE_CHECKING:
    from support.broker_process import BrokerProcess

NOW = int(time.time() * 1000)
NONE, UNKNOWN, CORRUPT = ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.CORRUPT_MESSAGE
INVALID, TOO_LARGE = ErrorCode.INVALID_RECORD, ErrorCode.MESSAGE_TOO_LARGE
UNTIMELY, NO_ZSTD = ErrorCode.INVALID_TIMESTAMP, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE

NOT_YET = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

PLAIN: dict[str, str] = {}
COMPACTED = {"cleanup.policy": "compact"}
APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
DAY_MS = "86400000"
BOUNDED = {"message.timestamp.before.max.ms": DAY_MS, "message.timestamp.after.max.ms": DAY_MS}
SMALL = {"max.message.bytes": "1000"}


class Case(NamedTuple):
    """A batch for a topic, the answer of a real Kafka, and our answer if it differs."""

    name: str
    batch: bytes
    error: ErrorCode
    configs: dict[str, str] = PLAIN
    records: tuple[int, ...] = ()
    ours: ErrorCode | None = None
    version: int = 9


def batch(*records: Record, **fields: object) -> bytes:
    return bytes(build_batch(records or [record(), record()], **fields))  # type: ignore[arg-type]


def record(timestamp: int = NOW, key: bytes | None = b"k", value: bytes = b"v") -> Record:
    return Record(0, timestamp, key, value)


def patch(*changes: tuple[int, str, int], data: bytes | None = None) -> bytes:
    """A good batch with values written over it and its CRC made right again."""
    changed = bytearray(batch() if data is None else data)
    for position, layout, value in changes:
        struct.pack_into(layout, changed, position, value)
    struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return bytes(changed)


GOOD = batch()
CASES = [
    Case("good", GOOD, NONE),
    *(Case(f"cut to {size} bytes", GOOD[:size], INVALID) for size in (0, 11, 12, 17, 60, 61, len(GOOD) - 1)),
    *(Case(f"length {size}", patch((8, ">i", size)), CORRUPT) for size in (-(2**31), -1, 0, 13)),
    Case("shorter than its header", patch((8, ">i", 48))[:60], CORRUPT),
    Case("length past the end", patch((8, ">i", 1000)), INVALID),
    *(Case(f"magic {magic}", patch((16, ">b", magic)), INVALID) for magic in (0, 1)),
    *(Case(f"magic {magic}", patch((16, ">b", magic)), CORRUPT) for magic in (-1, 3, 127)),
    Case("a byte behind", GOOD + b"x", NONE),
    Case("zeros behind", GOOD + bytes(40), CORRUPT),
    Case("half a batch behind", GOOD + GOOD[:-1], NONE),
    Case("two batches", GOOD + GOOD, INVALID),
    *(Case(f"{codec.name.lower()}", batch(codec=codec), NONE) for codec in Codec),
    Case("zstd before version 7", batch(codec=Codec.ZSTD), NO_ZSTD, version=6),
    *(Case(f"codec {codec}", patch((21, ">h", codec)), UNKNOWN, ours=INVALID) for codec in (5, 6, 7)),
    Case("unknown attributes", patch((21, ">h", 0x7F80)), NONE),
    Case("base offset 1", batch(base_offset=1), INVALID),
    Case("client leader epoch", batch(leader_epoch=77), NONE),
    Case("damaged", GOOD[:-1] + b"?", CORRUPT),
    Case("no records", patch((23, ">i", -1), (57, ">i", 0)), INVALID),
    Case("more counted than deltas", patch((57, ">i", 3)), INVALID),
    Case("fewer counted than deltas", patch((57, ">i", 1)), INVALID),
    Case("more counted than there can be", patch((23, ">i", 2**30 - 1), (57, ">i", 2**30)), INVALID),
    Case("fewer counted than there are", patch((23, ">i", 0), (57, ">i", 1)), INVALID),
    Case("garbage for records", patch((61, ">B", 0x7E)), INVALID),
    Case("garbage for records, compacted", patch((61, ">B", 0x7E)), INVALID, COMPACTED),
    Case("offset deltas that lie", patch((64, ">B", 2)), NONE, ours=INVALID),
    Case("a header count that lies", patch((69, ">B", 2)), INVALID),
    Case("attributes of a record", patch((62, ">B", 0xFF)), NONE),
    Case("falsely gzip", patch((21, ">h", 1)), UNKNOWN, ours=INVALID),
    Case("control batch", batch(control=True), INVALID),
    Case("producer id without a sequence", batch(producer_id=1, producer_epoch=0), INVALID),
    Case("sequence without a producer id", batch(base_sequence=5), NONE),
    Case("first sequence 5", batch(producer_id=1 << 40, producer_epoch=0, base_sequence=5), NONE),
    Case("null key", batch(record(key=None), record(), record(key=None)), INVALID, COMPACTED, (0, 2)),
    Case("null key, lz4", batch(record(), record(key=None), codec=Codec.LZ4), INVALID, COMPACTED, (1,)),
    Case("too large", batch(record(value=b"v" * 2000)), TOO_LARGE, SMALL),
    Case("too large and damaged", batch(record(value=b"v" * 2000))[:-1] + b"?", TOO_LARGE, SMALL),
    Case("too large at offset 3", batch(record(value=b"v" * 2000), base_offset=3), INVALID, SMALL),
    Case("too large before compression", batch(record(value=b"v" * 2000), codec=Codec.GZIP), NONE, SMALL),
    Case("timestamp -1", batch(record(-1)), NONE, BOUNDED),
    Case("timestamp -5", batch(record(-5)), NONE),
    Case("too old", batch(record(5), record()), UNTIMELY, BOUNDED, (0,)),
    Case("too new", batch(record(), record(NOW + 10**9)), UNTIMELY, BOUNDED, (1,)),
    Case("old, but the broker sets the time", batch(record(5)), NONE, BOUNDED | APPEND_TIME),
    Case("client sets append time", batch(log_append_time=NOW), NONE),
    Case("client sets append time, of the broker", batch(log_append_time=NOW), UNTIMELY, APPEND_TIME, (0, 1)),
    Case("recompressed", batch(), NONE, {"compression.type": "gzip"}),
    Case("recompressed from lz4", batch(codec=Codec.LZ4), NONE, {"compression.type": "zstd"}),
    Case(
        "falsely lz4, recompressed", patch((21, ">h", 3)), UNKNOWN, {"compression.type": "gzip"}, ours=INVALID
    ),
    Case(
        "too large when unpacked",
        batch(record(value=b"v" * 2000), codec=Codec.GZIP),
        TOO_LARGE,
        SMALL | {"compression.type": "uncompressed"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_produced_batches(case: Case, broker: BrokerProcess, name: str) -> None:
    with RawClient(("127.0.0.1", broker.port)) as client:
        assert create_topic(client, name, configs=case.configs) == 0
        data = ProduceRequest.PartitionProduceData(index=0, records=case.batch)
        topic = ProduceRequest.TopicProduceData(name=name, partition_data=[data])
        request = ProduceRequest(acks=1, timeout_ms=5000, topic_data=[topic])
        answer = client.call(request, case.version).responses[0].partition_responses[0]
        while answer.error_code in NOT_YET:
            answer = client.call(request, case.version).responses[0].partition_responses[0]
    error = case.ours if case.ours is not None and broker.name == "kcompat" else case.error
    assert ErrorCode(answer.error_code) is error
    assert tuple(row.batch_index for row in answer.record_errors) == case.records
    assert answer.base_offset == (-1 if error else 0)


@pytest.mark.parametrize("rest", [b"x", bytes(11), GOOD[:-1]], ids=len)
def test_what_follows_a_batch_is_not_stored(rest: bytes, broker: BrokerProcess, name: str) -> None:
    with RawClient(("127.0.0.1", broker.port)) as client:
        assert create_topic(client, name) == 0
        for offset in (0, 2, 4):
            answer = produce(client, name, GOOD + rest)
            while answer.error_code in NOT_YET:
                answer = produce(client, name, GOOD + rest)
            assert (answer.error_code, answer.base_offset) == (0, offset)
        stored = bytearray(fetch(client, name, 0).records)
    for position in range(0, len(stored), len(GOOD)):
        assign(memoryview(stored)[position : position + len(GOOD)], 0, -1)
    assert stored == GOOD * 3


@pytest.mark.parametrize("codec", Codec)
def test_the_largest_timestamp_is_that_of_the_records(codec: Codec, broker: BrokerProcess, name: str) -> None:
    with RawClient(("127.0.0.1", broker.port)) as client:
        assert create_topic(client, name) == 0
        good = batch(record(NOW - 5), record(NOW), record(-1), codec=codec)
        lying = patch((35, ">q", NOW + 77), data=good)
        answer = produce(client, name, lying)
        while answer.error_code in NOT_YET:
            answer = produce(client, name, lying)
        assert answer.error_code == 0
        stored = bytearray(fetch(client, name, 0).records)
    assign(stored, 0, -1)
    assert stored == good
