"""Batches under another codec keep everything but their codec, length and CRC."""

from __future__ import annotations

import pytest

from kcompat.records.batch import build_batch, crc_matches, read_header, read_records
from kcompat.records.compression import Codec
from kcompat.records.errors import RecordsDamaged
from kcompat.records.recompress import recompress
from kcompat.records.record import Record

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


def test_a_count_that_lies_is_damage() -> None:
    batch = produced(Codec.LZ4)
    batch[57:61] = (21).to_bytes(4, "big")
    with pytest.raises(RecordsDamaged, match="20 records where the header counts 21"):
        recompress(memoryview(batch), Codec.NONE)
