"""Our messages of magic 0 and 1 read the same through the record classes of kafka-python and aiokafka, and
theirs through ours. LZ4 in magic 0 is left to real old clients: these libraries refuse it or lack a package.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.records.batch import build_batch, read_records
from kcompat.records.compression import Codec
from kcompat.records.down_convert import down_convert
from kcompat.records.message_set import LEGACY_CODECS, read_messages
from kcompat.records.record import Record
from kcompat.records.up_convert import accept_old
from support.default_settings import log_settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from aiokafka.record.legacy_records import LegacyRecordBatchBuilder as AioBuilder
    from aiokafka.record.memory_records import MemoryRecords as AioRecords
    from kafka.record import MemoryRecords
    from kafka.record.legacy_records import LegacyRecordBatchBuilder

NULLABLE = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.builds(Record, offset=st.just(0), timestamp=st.integers(0, 2**45), key=NULLABLE, value=NULLABLE),
    min_size=1,
    max_size=30,
)
FORMATS = st.sampled_from(
    [(codec, magic) for codec in LEGACY_CODECS for magic in (0, 1) if codec != Codec.LZ4 or magic]
)
READERS = {"kafka-python": MemoryRecords, "aiokafka": AioRecords}
BUILDERS = {"kafka-python": LegacyRecordBatchBuilder, "aiokafka": AioBuilder}


def fields(records: list[Record], magic: int, base: int = 0) -> list[tuple[Any, ...]]:
    return [(base + at, r.timestamp if magic else None, r.key, r.value) for at, r in enumerate(records)]


def read_with(reader: Any, data: bytes) -> list[tuple[Any, ...]]:
    batches = reader(data)
    found = []
    while batches.has_next():
        batch = batches.next_batch()
        assert batch.validate_crc()
        found += [
            (r.offset, None if r.timestamp in (None, -1) else r.timestamp, r.key, r.value) for r in batch
        ]
    return found


@pytest.mark.parametrize("library", READERS)
@given(records=RECORDS, kind=FORMATS, base=st.integers(0, 2**40))
@settings(deadline=None)
def test_they_read_what_we_write(
    library: str, records: list[Record], kind: tuple[Codec, int], base: int
) -> None:
    codec, magic = kind
    batch = memoryview(build_batch(records, codec=codec, base_offset=base))
    data = b"".join(down_convert(batch, magic, 0))
    assert read_with(READERS[library], data) == fields(records, magic, base)


@pytest.mark.parametrize("library", BUILDERS)
@given(records=RECORDS, kind=FORMATS)
@settings(deadline=None)
def test_we_read_what_they_write(library: str, records: list[Record], kind: tuple[Codec, int]) -> None:
    codec, magic = kind
    builder: Any = BUILDERS[library](magic, int(codec), 1 << 20)
    for offset, record in enumerate(records):
        assert builder.append(offset, record.timestamp, record.key, record.value) is not None
    data = bytes(builder.build())
    ours = [(m.offset, m.timestamp if magic else None, m.key, m.value) for m in read_messages(data)]
    assert ours == read_with(READERS[library], data) == fields(records, magic)
    outcome = accept_old(memoryview(data), log_settings(), None, 0)
    assert isinstance(outcome, tuple)
    stored = [(r.offset, r.timestamp if magic else None, r.key, r.value) for r in read_records(outcome[0])]
    assert (stored, outcome[1].codec) == (fields(records, magic), codec)
