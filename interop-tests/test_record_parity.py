"""Our batches read the same through the record classes of kafka-python, and theirs through ours."""

from __future__ import annotations

import warnings

from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.records.batch import build_batch, crc_matches, read_header, read_records
from kcompat.records.compression import Codec
from kcompat.records.record import Record

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record import MemoryRecords
    from kafka.record.default_records import DefaultRecordBatchBuilder

NULLABLE = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp=st.integers(0, 2**45),
        key=NULLABLE,
        value=NULLABLE,
        headers=st.lists(st.tuples(st.text(max_size=20), NULLABLE), max_size=4).map(tuple),
    ),
    min_size=1,
    max_size=30,
)
CODECS = st.sampled_from(Codec)


def fields(record: Record) -> tuple[object, ...]:
    return record.timestamp, record.key, record.value, list(record.headers)


@given(RECORDS, CODECS)
@settings(deadline=None)
def test_kafka_python_reads_what_we_write(records: list[Record], codec: Codec) -> None:
    batches = MemoryRecords(bytes(build_batch(records, codec=codec)))
    batch = batches.next_batch()
    assert batch.validate_crc()
    theirs = [(record.timestamp, record.key, record.value, record.headers) for record in batch]
    assert theirs == list(map(fields, records))


@given(RECORDS, CODECS)
@settings(deadline=None)
def test_we_read_what_kafka_python_writes(records: list[Record], codec: Codec) -> None:
    builder = DefaultRecordBatchBuilder(2, int(codec), 0, 9, 1, 4, 1 << 20)
    for offset, record in enumerate(records):
        builder.append(offset, record.timestamp, record.key, record.value, list(record.headers))
    batch = memoryview(bytes(builder.build()))
    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 1, 4)
    assert (header.record_count, header.size) == (len(records), len(batch))
    assert crc_matches(batch, 0, len(batch))
    assert list(map(fields, read_records(batch))) == list(map(fields, records))
