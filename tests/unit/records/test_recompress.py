"""Batches under another codec keep everything but their codec, length and CRC."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, crc_matches, read_header, read_records
from kcompat.records.compression import Codec, Compression, compress, decompress
from kcompat.records.recompress import conform, recompress
from kcompat.records.record import Record
from kcompat.records.validate import BatchRefusal

RECORDS = [Record(40 + i, 7 - i, b"k%d" % i, b"value" * 200, (("h", None),)) for i in range(20)]


def produced(codec: Codec) -> bytearray:
    return build_batch(
        RECORDS,
        base_offset=40,
        codec=codec,
        producer_id=3,
        producer_epoch=1,
        base_sequence=5,
        transactional=True,
    )


@pytest.mark.parametrize("source", Codec)
@pytest.mark.parametrize("target", Codec)
def test_from_any_codec_to_any(source: Codec, target: Codec) -> None:
    batch = recompress(memoryview(produced(source)), Compression(target))
    assert batch == produced(target)
    assert crc_matches(memoryview(batch), 0, read_header(batch).size)
    assert list(read_records(memoryview(batch))) == RECORDS


@pytest.mark.parametrize("target", [None, Compression(Codec.GZIP)])
def test_a_producers_own_append_time_mark_goes(target: Compression | None) -> None:
    batch = memoryview(build_batch(RECORDS, log_append_time=5000))
    stored, header = unwrap(conform(batch, read_header(batch), target, 1 << 20))
    assert not header.uses_log_append_time
    assert (header, header.max_timestamp) == (read_header(stored), 5000)
    assert crc_matches(stored, 0, header.size)
    assert [record.timestamp for record in read_records(stored)] == [record.timestamp for record in RECORDS]


def unwrap(stored: Any) -> Any:
    assert not isinstance(stored, BatchRefusal)
    return stored


@pytest.mark.parametrize("target", [None, Compression(Codec.LZ4), Compression(Codec.LZ4, 17)])
def test_a_batch_that_is_as_the_topic_wants_it_stays(target: Compression | None) -> None:
    batch = memoryview(produced(Codec.LZ4))
    header = read_header(batch)
    assert conform(batch, header, target, 10) == (batch, header)


@pytest.mark.parametrize("codec", Codec)
def test_the_topics_codec_wins(codec: Codec) -> None:
    batch = produced(Codec.SNAPPY)
    outcome = conform(memoryview(batch + b"rest"), read_header(batch), Compression(codec), 100_000)
    assert isinstance(outcome, tuple)
    assert outcome[0] == produced(codec)
    assert outcome[1] == read_header(produced(codec))


@pytest.mark.parametrize(("codec", "level"), [(Codec.GZIP, 1), (Codec.LZ4, 1), (Codec.ZSTD, -5)])
def test_the_topics_level_wins(codec: Codec, level: int) -> None:
    batch = memoryview(produced(Codec.SNAPPY))
    stored, header = unwrap(conform(batch, read_header(batch), Compression(codec, level), 100_000))
    assert stored[61:] == compress(codec, b"".join(decompress(Codec.SNAPPY, batch[61:])), level)
    assert stored[61:] != produced(codec)[61:]
    assert (header.codec, crc_matches(stored, 0, header.size)) == (codec, True)
    assert list(read_records(stored)) == RECORDS


def test_a_copy_may_be_too_large() -> None:
    batch = memoryview(produced(Codec.ZSTD))
    outcome = conform(batch, read_header(batch), Compression(Codec.NONE), 1000)
    assert isinstance(outcome, BatchRefusal)
    assert outcome.error is ErrorCode.MESSAGE_TOO_LARGE
