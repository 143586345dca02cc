"""Our batches read the same through the record classes of kafka-python, and theirs through ours."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from hypothesis import given, settings

from kcompat.records.batch import build_batch, crc_matches, read_header, read_records
from support.record_strategies import CODECS, RECORDS, fields

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record import MemoryRecords
    from kafka.record.default_records import DefaultRecordBatchBuilder

if TYPE_CHECKING:
    from kcompat.records.compression import Codec
    from kcompat.records.record import Record


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
