"""Batches of a console producer, and the partition of a record."""

from __future__ import annotations

from kcompat.commands.console.batches import Batch, Partitioner, upper_size
from kcompat.commands.console.lines import Line
from kcompat.records.batch import read_header, read_records
from kcompat.records.compression import Codec


def test_size_is_counted_as_java_counts_it() -> None:
    assert upper_size(Line(None, b"longer than ten")) == 61 + 21 + 1 + 16 + 1
    assert upper_size(Line(b"k" * 64, None, (("h", b"x"),))) == 61 + 21 + 66 + 1 + 1 + 2 + 2


def test_batch_holds_records_and_producer() -> None:
    batch = Batch(0)
    batch.add(Line(b"k", b"v", (("h", None),)), 1000)
    batch.add(Line(None, None), 990)
    batch.producer, batch.sequence = (7, 1), 5
    encoded = memoryview(batch.encode(Codec.GZIP))
    header = read_header(encoded)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 5)
    assert (header.record_count, header.max_timestamp, header.codec) == (2, 1000, Codec.GZIP)
    first, second = read_records(encoded)
    assert (first.key, first.value, first.headers, first.timestamp) == (b"k", b"v", (("h", None),), 1000)
    assert (second.key, second.value, second.timestamp) == (None, None, 990)


def test_records_without_key_stay_in_a_partition_until_a_batch_is_full() -> None:
    partitioner = Partitioner(batch_size=100)
    chosen = [partitioner.choose(Line(None, b""), 1000, range(1000), 50) for _ in range(4)]
    assert chosen[0] == chosen[1]
    assert chosen[2] == chosen[3]
    assert partitioner.choose(Line(None, b""), 3, [2], 50) == 2


def test_key_chooses_the_partition() -> None:
    partitioner = Partitioner(batch_size=100)
    keyed = {partitioner.choose(Line(b"k1", b""), 2, [0, 1], 50) for _ in range(5)}
    assert keyed == {1}
