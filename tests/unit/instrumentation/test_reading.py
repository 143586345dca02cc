from __future__ import annotations

import pytest

from kcompat.instrumentation.reading import decode
from kcompat.instrumentation.records import Record
from kcompat.records.batch import assign, build_batch
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.conversion import encode_wrapper
from kcompat.records.errors import RecordsDamaged
from kcompat.records.message_set import encode_message
from kcompat.records.record import Record as LogRecord

PLACE = "orders", 3
LOG_RECORDS = [
    LogRecord(0, 1000, b"k", b"v", (("h", b"x"), ("n", None))),
    LogRecord(0, 999, None, None),
]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_of_each_codec(codec: Codec) -> None:
    batch = build_batch(LOG_RECORDS, base_offset=40, codec=codec)
    assert decode(bytes(batch), PLACE) == (
        [
            Record(*PLACE, 40, 1000, "CreateTime", b"k", b"v", (("h", b"x"), ("n", None))),
            Record(*PLACE, 41, 999, "CreateTime", None, None),
        ],
        42,
    )


def test_the_producer_and_its_sequence_numbers() -> None:
    batch = build_batch(
        LOG_RECORDS, producer_id=7, producer_epoch=2, base_sequence=2**31 - 1, transactional=True
    )
    first, second = decode(bytes(batch), PLACE)[0]
    assert (first.producer_id, first.producer_epoch, first.is_transactional) == (7, 2, True)
    assert (first.sequence, second.sequence) == (2**31 - 1, 0)


def test_the_time_of_the_broker() -> None:
    batch = build_batch(LOG_RECORDS, log_append_time=5000)
    records, _ = decode(bytes(batch), PLACE)
    assert {(each.timestamp, each.timestamp_type) for each in records} == {(5000, "LogAppendTime")}


def test_aborted_transactions_and_control_records_are_left_out() -> None:
    abort = EndTransactionMarker(ControlType.ABORT, 0)
    marker = build_marker(abort, producer_id=7, producer_epoch=0, timestamp=1, leader_epoch=0)
    assign(marker, 4, 0)
    aborted, open_ = (
        build_batch(LOG_RECORDS, base_offset=base, producer_id=producer, producer_epoch=0, transactional=True)
        for base, producer in ((0, 7), (2, 8))
    )
    joined = bytes(aborted + open_ + marker)
    assert [each.offset for each in decode(joined, PLACE, [(7, 0)])[0]] == [2, 3]
    records, next_offset = decode(joined, PLACE)
    assert ([each.offset for each in records], next_offset) == ([0, 1, 2, 3], 5)


@pytest.mark.parametrize(
    ("magic", "attributes", "timestamp", "kind"),
    [
        (0, 0, -1, "NoTimestampType"),
        (1, 0, 12, "CreateTime"),
        (1, 8, 12, "LogAppendTime"),
        (1, 0, -1, "NoTimestampType"),
    ],
)
def test_messages_of_old_formats(magic: int, attributes: int, timestamp: int, kind: str) -> None:
    data = encode_message(7, magic, attributes, timestamp, b"k", None)
    batch = bytes(build_batch(LOG_RECORDS[:1], base_offset=8))
    records, next_offset = decode(data + batch, PLACE)
    assert records[0] == Record(*PLACE, 7, timestamp, kind, b"k", None)
    assert ([each.offset for each in records], next_offset) == ([7, 8], 9)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_wrappers_of_old_formats(magic: int, codec: Codec) -> None:
    offsets = [5, 6] if magic == 0 else [0, 1]  # those of magic 1 are relative
    inner = b"".join(encode_message(at, magic, 0, 10, b"k", b"v") for at in offsets)
    data = encode_wrapper(inner, codec, magic, last_offset=6, attributes=0, timestamp=10)
    records, next_offset = decode(data, PLACE)
    assert ([each.offset for each in records], next_offset) == ([5, 6], 7)


def test_data_may_end_anywhere() -> None:
    whole, cut = (bytes(build_batch(LOG_RECORDS, base_offset=base)) for base in (0, 2))
    for size in range(len(cut)):
        records, next_offset = decode(whole + cut[:size], PLACE)
        assert (len(records), next_offset) == (2, 2)
    assert decode(cut[:-1], PLACE) == ([], None)


def test_damage_is_reported() -> None:
    batch = build_batch(LOG_RECORDS)
    batch[-1] ^= 1
    with pytest.raises(RecordsDamaged, match="the CRC of the batch at offset 0 is wrong"):
        decode(bytes(batch), PLACE)
    with pytest.raises(RecordsDamaged, match="a batch of 12 bytes"):
        decode(bytes(100), PLACE)
