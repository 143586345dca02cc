"""Message sets of magic 0 and 1 as produced: the same table for a real Kafka and for us.

Each case names the error of a real Kafka 3.9.2. Where ours differs, the table says so beside it.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest
import snappy

import old_messages as old
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.legacy_lz4 import with_right_checksum
from kcompat.records.record import Record
from old_messages import message, seal, wrap
from support.raw_client import RawClient
from support.raw_requests import create_topic, fetch, read_all
from test_produced_batches import APPEND_TIME, BOUNDED, COMPACTED, NOT_YET, PLAIN, SMALL

if TYPE_CHECKING:
    from support.broker_process import BrokerProcess

NOW = int(time.time() * 1000)
NONE, UNKNOWN, CORRUPT = ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.CORRUPT_MESSAGE
INVALID, TOO_LARGE = ErrorCode.INVALID_RECORD, ErrorCode.MESSAGE_TOO_LARGE
UNTIMELY = ErrorCode.INVALID_TIMESTAMP


class Case(NamedTuple):
    """A set for a topic, the error of a real Kafka, how many records are stored, our error if it differs."""

    name: str
    data: bytes
    error: ErrorCode
    stored: int = 0
    configs: dict[str, str] = PLAIN
    ours: ErrorCode | None = None


def m0(offset: int = 0, key: bytes | None = b"k", value: bytes | None = b"v", **more: int) -> bytes:
    return message(0, offset, key, value, **more)


def m1(
    offset: int = 0, key: bytes | None = b"k", value: bytes | None = b"v", timestamp: int = NOW, **more: int
) -> bytes:
    return message(1, offset, key, value, timestamp, **more)


def w0(inner: bytes, codec: int = old.GZIP, offset: int = 1, **more: int) -> bytes:
    return wrap(0, offset, inner, codec, **more)


def w1(inner: bytes, codec: int = old.GZIP, offset: int = 1, timestamp: int = NOW, **more: int) -> bytes:
    return wrap(1, offset, inner, codec, timestamp, **more)


def flip(data: bytes, at: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def sized(data: bytes, size: int) -> bytes:
    return data[:8] + struct.pack(">i", size) + data[12:]


def batch(**fields: object) -> bytes:
    return bytes(build_batch([Record(0, NOW, b"k", b"v")] * 2, **fields))  # type: ignore[arg-type]


IN0, IN1 = m0() + m0(1), m1() + m1(1)
RIGHT_LZ4 = message(0, 1, None, with_right_checksum(old.pack(0, IN0, old.LZ4)), attributes=old.LZ4)
WRONG_LZ4 = message(1, 1, None, old.pack(0, IN1, old.LZ4), NOW, old.LZ4)
RAW_SNAPPY = message(0, 1, None, snappy.compress(IN0), attributes=old.SNAPPY)
RAW_SNAPPY_1 = message(1, 1, None, snappy.compress(IN1), NOW, old.SNAPPY)
BAD_V1 = seal(0, struct.pack(">bbi", 1, 0, -1) + bytes(4))
LONG_KEY = seal(0, struct.pack(">bbi", 0, 0, 1000) + bytes(10))
CUT_GZIP = message(0, 1, None, old.pack(0, IN0, old.GZIP)[:-12], attributes=old.GZIP)
PLAINLY = {"compression.type": "uncompressed"}
BIG = b"v" * 2000

CASES = [
    Case("one, v0", m0(), NONE, 1),
    Case("one, v1", m1(), NONE, 1),
    Case("several, v0, any offsets", m0(7) + m0(7) + m0(-3), NONE, 3),
    Case("several, v1, any offsets", m1(7) + m1(7) + m1(-3), NONE, 3),
    Case("nulls", m0(0, None, None) + m0(0, b"", b""), NONE, 2),
    Case("negative lengths", seal(0, struct.pack(">bbii", 0, 0, -5, -7)), NONE, 1),
    Case("nothing", b"", NONE),
    *(Case(f"cut to {size} bytes", m0()[:size], NONE) for size in (1, 11, 12, 16, 17, 27)),
    Case("a whole one and a cut one", m0() + m0()[:-1], NONE, 1),
    Case("a whole one and 20 zeros", m0() + bytes(20), CORRUPT),
    *(Case(f"size {size}", sized(m0(), size), CORRUPT) for size in (-1, 0, 13)),
    Case("size past the end", sized(m0(), 1000), NONE),
    *(Case(f"magic {magic}", message(magic, 0, b"k", b"v"), CORRUPT) for magic in (3, -1)),
    Case("magic 3, cut", message(3, 0, b"k", b"v")[:17], CORRUPT),
    Case("damaged, v0", flip(m0(), 27), CORRUPT),
    Case("damaged, v1", flip(m1(), 35), CORRUPT),
    Case("the second damaged", m0() + flip(m0(), 27), CORRUPT),
    Case("v1 too short for its fields", BAD_V1, UNKNOWN, ours=INVALID),
    Case("a key past the end", LONG_KEY, UNKNOWN, ours=INVALID),
    Case("bytes after the value", seal(0, m0()[16:] + b"more"), NONE, 1),
    Case("mixed magics", m0() + m1(), INVALID),
    Case("mixed magics, 1 first", m1() + m0(), INVALID),
    Case("a message and a batch", m0() + batch(), INVALID),
    Case("a batch and a message", batch() + m0(), INVALID),
    Case("a batch", batch(), NONE, 2),
    Case("a batch, zstd", batch(codec=Codec.ZSTD), NONE, 2),
    Case("a batch and half a message", batch() + m0()[:20], NONE, 2),
    Case("two batches", batch() + batch(), INVALID),
    Case("half a batch", batch()[:-1], NONE),
    *(Case(f"{name}, v0", w0(IN0, codec), NONE, 2) for name, codec in old.CODECS.items() if codec),
    *(Case(f"{name}, v1", w1(IN1, codec), NONE, 2) for name, codec in old.CODECS.items() if codec),
    Case("raw snappy, v0", RAW_SNAPPY, NONE, 2),
    Case("raw snappy, v1", RAW_SNAPPY_1, NONE, 2),
    Case("lz4, v0, right checksum", RIGHT_LZ4, NONE, 2),
    Case("lz4, v1, wrong checksum", WRONG_LZ4, UNKNOWN, ours=INVALID),
    Case("zstd, v0", message(0, 1, None, b"(\xb5/\xfd\0", attributes=4), INVALID),
    Case("zstd, v1", message(1, 1, None, b"(\xb5/\xfd\0", NOW, 4), INVALID),
    *(Case(f"codec {codec}", message(0, 1, None, IN0, 0, codec), UNKNOWN, ours=INVALID) for codec in (5, 7)),
    Case("unknown attributes, v0", m0(attributes=0x70), NONE, 1),
    Case("unknown attributes, v1", m1(attributes=0x70), NONE, 1),
    Case("relative offsets in v0", w0(m0(0) + m0(0)), NONE, 2),
    Case("absolute offsets in v1", w1(m1(5) + m1(6), offset=6), NONE, 2),
    Case("wrapper v1 at 0", w1(IN1, offset=0), NONE, 2),
    Case("wrapper v1 before its last", w1(m1() + m1(1) + m1(2), offset=1), INVALID),
    Case("wrapper v1 at -1", w1(IN1, offset=-1), INVALID),
    Case("two wrappers", w0(IN0) + w0(IN0), INVALID),
    Case("a wrapper and a message", w0(IN0) + m0(), INVALID),
    Case("a message and a wrapper", m0() + w0(IN0), INVALID),
    Case("a wrapper and half of one", w0(IN0) + w0(IN0)[:-1], NONE, 2),
    Case("nested wrappers, v0", w0(w0(IN0)), INVALID),
    Case("nested wrappers, v1", w1(w1(IN1)), INVALID),
    Case("magic 1 inside 0", w0(IN1), INVALID),
    Case("magic 0 inside 1", w1(IN0), INVALID),
    Case("damaged inside, v0", w0(m0() + flip(m0(1), 27)), CORRUPT),
    Case("damaged inside, v1", w1(m1() + flip(m1(1), 35)), CORRUPT),
    Case("too small inside", w0(m0() + sized(m0(), 13)), CORRUPT),
    Case("cut inside", w0(m0() + m0(1)[:-1]), NONE, 1),
    Case("a wrapper with nothing inside", w0(b""), INVALID),
    Case("a wrapper without a value", message(0, 0, None, None, 0, old.GZIP), INVALID),
    Case("a wrapper with a key", message(0, 1, b"key", old.pack(0, IN0, old.GZIP), 0, old.GZIP), NONE, 2),
    Case("falsely gzip", message(0, 1, None, IN0, 0, old.GZIP), UNKNOWN, ours=INVALID),
    Case("falsely snappy", message(0, 1, None, IN0, 0, old.SNAPPY), UNKNOWN, ours=INVALID),
    Case("falsely lz4", message(0, 1, None, IN0, 0, old.LZ4), UNKNOWN, ours=INVALID),
    Case(
        "gzip cut short", message(0, 1, None, old.pack(0, IN0, 1)[:-12], 0, old.GZIP), UNKNOWN, ours=INVALID
    ),
    Case("null key", m0(0, None), INVALID, configs=COMPACTED),
    Case("null key inside", w1(m1() + m1(1, None)), INVALID, configs=COMPACTED),
    Case("null key of a wrapper", w1(IN1), NONE, 2, COMPACTED),
    Case("too large", m0(value=BIG), TOO_LARGE, configs=SMALL),
    Case("too large and damaged", flip(m0(value=BIG), 100), TOO_LARGE, configs=SMALL),
    Case("too large together", (m0(value=BIG[:300])) * 4, TOO_LARGE, configs=SMALL),
    Case("too large before compression", w0(m0(value=BIG)), NONE, 1, SMALL),
    Case(
        "too large when unpacked",
        w0(m0(value=BIG)),
        TOO_LARGE,
        0,
        SMALL | {"compression.type": "uncompressed"},
    ),
    Case("plain for a gzip topic", m0() * 40, NONE, 40, SMALL | {"compression.type": "gzip"}),
    Case("lz4 for a zstd topic", w1(IN1, old.LZ4), NONE, 2, {"compression.type": "zstd"}),
    Case("timestamp -1", m1(timestamp=-1), NONE, 1, BOUNDED),
    Case("timestamp -5", m1(timestamp=-5), UNKNOWN, ours=UNTIMELY),
    Case("v0 where times are bounded", m0(), NONE, 1, BOUNDED),
    Case("too old", m1(timestamp=5), UNTIMELY, configs=BOUNDED),
    Case("too new inside", w1(m1() + m1(1, timestamp=NOW + 10**9)), UNTIMELY, configs=BOUNDED),
    Case("too new, but the wrapper says append time", w1(m1(timestamp=5), marks=8), NONE, 1, BOUNDED),
    Case("old, but the broker sets the time", m1(timestamp=5), NONE, 1, BOUNDED | APPEND_TIME),
    Case("client sets append time", m1(attributes=8), NONE, 1),
    Case("client sets append time inside", w1(m1(attributes=8)), NONE, 1, APPEND_TIME),
    Case("client sets append time, of the broker", m1(attributes=8), UNTIMELY, 0, APPEND_TIME),
    Case("wrapper sets append time, of the broker", w1(IN1, marks=8), UNTIMELY, 0, APPEND_TIME),
    Case("v0 with the bit of append time", m0(attributes=8), NONE, 1, APPEND_TIME),
]


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_produced_message_sets(case: Case, version: int, broker: BrokerProcess, name: str) -> None:
    with RawClient(("127.0.0.1", broker.port)) as client:
        assert create_topic(client, name, configs=case.configs) == 0
        while fetch(client, name, 0).error_code in NOT_YET:
            pass
        data = ProduceRequest.PartitionProduceData(index=0, records=case.data)
        topic = ProduceRequest.TopicProduceData(name=name, partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic])
        answer = client.call(request, version).responses[0].partition_responses[0]
        stored = list(read_all(client, name))
    error = case.ours if case.ours is not None and broker.name == "kcompat" else case.error
    assert ErrorCode(answer.error_code) is error
    assert len(stored) == case.stored
    assert answer.base_offset == (0 if case.stored else -1)
    stamped = version == 2 and case.stored and case.configs.get("message.timestamp.type")
    assert (answer.log_append_time_ms > 0) == bool(stamped)
