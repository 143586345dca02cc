"""Batches under another codec keep everything but their codec, length and CRC."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, crc_matches, read_header, read_records
from kcompat.records.compression import Codec
from kcompat.records.recompress import CODECS, conform, recompress
from kcompat.records.record import Record
from kcompat.records.validate import Refusal

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
    batch = recompress(memoryview(produced(source)), target)
    assert batch == produced(target)
    assert crc_matches(memoryview(batch), 0, read_header(batch).size)
    assert list(read_records(memoryview(batch))) == RECORDS


@pytest.mark.parametrize("compression_type", ["producer", "gzip"])
def test_a_producers_own_append_time_mark_goes(compression_type: str) -> None:
    batch = memoryview(build_batch(RECORDS, log_append_time=5000))
    stored, header = unwrap(conform(batch, read_header(batch), compression_type, 1 << 20))
    assert not header.uses_log_append_time
    assert (header, header.max_timestamp) == (read_header(stored), 5000)
    assert crc_matches(stored, 0, header.size)
    assert [record.timestamp for record in read_records(stored)] == [record.timestamp for record in RECORDS]


def unwrap(stored: Any) -> Any:
    assert not isinstance(stored, Refusal)
    return stored


@pytest.mark.parametrize("name", ["producer", "lz4"])
def test_a_batch_that_is_as_the_topic_wants_it_stays(name: str) -> None:
    batch = memoryview(produced(Codec.LZ4))
    header = read_header(batch)
    assert conform(batch, header, name, 10) == (batch, header)


@pytest.mark.parametrize(("name", "codec"), CODECS.items())
def test_the_topics_codec_wins(name: str, codec: Codec) -> None:
    batch = produced(Codec.SNAPPY)
    outcome = conform(memoryview(batch + b"rest"), read_header(batch), name, 100_000)
    assert isinstance(outcome, tuple)
    assert outcome[0] == produced(codec)
    assert outcome[1] == read_header(produced(codec))


def test_a_copy_may_be_too_large() -> None:
    batch = memoryview(produced(Codec.ZSTD))
    outcome = conform(batch, read_header(batch), "uncompressed", 1000)
    assert isinstance(outcome, Refusal)
    assert outcome.error is ErrorCode.MESSAGE_TOO_LARGE
