"""The small files against the bytes Kafka writes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from kcompat.log import checkpoints, names
from kcompat.log.checkpoints import CheckpointDamaged
from kcompat.log.files import FILES
from kcompat.log.producer_snapshot import decode_snapshot, encode_snapshot
from kcompat.log.producers import BatchMetadata, ProducerEntry
from kcompat.log.txn_index import AbortedTransaction, TransactionIndex

if TYPE_CHECKING:
    from pathlib import Path

TOPIC_ID = bytes.fromhex("000102030405060708090a0b0c0d0e0f")


def test_offset_checkpoint() -> None:
    offsets = {("a", 0): 12, ("b.c", 3): 9_223_372_036_854_775_807}
    data = b"0\n2\na 0 12\nb.c 3 9223372036854775807\n"
    assert checkpoints.format_offsets(offsets) == data
    assert checkpoints.parse_offsets(data) == offsets
    assert checkpoints.format_offsets({}) == b"0\n0\n"
    assert checkpoints.parse_offsets(b"") == {}


def test_leader_epoch_checkpoint() -> None:
    assert checkpoints.format_epochs([(0, 0), (4, 17)]) == b"0\n2\n0 0\n4 17\n"
    assert checkpoints.parse_epochs(b"0\n2\n0 0\n4 17\n") == [(0, 0), (4, 17)]


@pytest.mark.parametrize(
    "data",
    [b"1\n0\n", b"0\n", b"0\nx\n", b"0\n2\na 0 1\n", b"0\n1\na 0\n", b"0\n1\na 0 1 2\n", b"0\n1\na 0 -1\n",
     b"\xff\xfe", b"garbage", b"0\n1\na 0 99999999999999999999\n", bytes(64)],
)  # fmt: skip
def test_damaged_offset_checkpoints_are_noticed(data: bytes) -> None:
    with pytest.raises(CheckpointDamaged):
        checkpoints.parse_offsets(data)


@pytest.mark.parametrize("data", [b"0\n2\n3 0\n3 5\n", b"0\n2\n3 5\n4 5\n", b"0\n1\n1\n"])
def test_epochs_that_do_not_increase_are_noticed(data: bytes) -> None:
    with pytest.raises(CheckpointDamaged):
        checkpoints.parse_epochs(data)


def test_partition_metadata() -> None:
    data = b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert checkpoints.format_partition_metadata(TOPIC_ID) == data
    assert checkpoints.parse_partition_metadata(data) == TOPIC_ID
    for damaged in (b"", b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw", b"version: 0\ntopic_id: ???"):
        with pytest.raises(CheckpointDamaged):
            checkpoints.parse_partition_metadata(damaged)


def test_clean_shutdown_and_meta_properties() -> None:
    assert checkpoints.format_clean_shutdown(7) == b'{"version":0,"brokerEpoch":7}'
    assert checkpoints.parse_clean_shutdown(b'{"version":0,"brokerEpoch":7}') == 7
    assert checkpoints.parse_clean_shutdown(b"") == -1
    properties = {"version": "0", "broker.id": "1", "cluster.id": "x"}
    assert checkpoints.format_properties(properties) == b"broker.id=1\ncluster.id=x\nversion=0\n"
    assert (
        checkpoints.parse_properties(b"#\n#Sat Nov 21\ncluster.id=x\nbroker.id=1\nversion=0\n") == properties
    )


def test_producer_snapshot() -> None:
    entries = [
        ProducerEntry(7, 2, 1000, 3, -1, [BatchMetadata(9, 50, 4, 1000)]),
        ProducerEntry(8, 0, 2000, 5, 60, []),
    ]
    data = encode_snapshot(entries)
    assert data[:2] == b"\0\1"
    assert data[6:10] == b"\0\0\0\2"
    assert data[10:] == bytes.fromhex(
        "0000000000000007 0002 00000009 0000000000000032 00000004 00000000000003e8 00000003 ffffffffffffffff"
        "0000000000000008 0000 ffffffff ffffffffffffffff 00000000 00000000000007d0 00000005 000000000000003c"
    )
    assert decode_snapshot(data) == entries


def test_a_damaged_producer_snapshot_is_noticed_at_every_byte() -> None:
    data = encode_snapshot([ProducerEntry(7, 2, 1000, 3, -1, [BatchMetadata(9, 50, 4, 1000)])])
    damaged = [data[:at] for at in range(len(data))]
    damaged += [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(len(data))]
    for content in (*damaged, data + b"\0"):
        with pytest.raises(CheckpointDamaged):
            decode_snapshot(content)


def test_transaction_index(tmp_path: Path) -> None:
    path = tmp_path / "x.txnindex"
    index = TransactionIndex(FILES, str(path))
    assert index.load()
    assert not path.exists()
    index.append(AbortedTransaction(1, 10, 19, 15))
    index.append(AbortedTransaction(2, 15, 30, 31))
    assert path.read_bytes() == bytes.fromhex(
        "0000 0000000000000001 000000000000000a 0000000000000013 000000000000000f"
        "0000 0000000000000002 000000000000000f 000000000000001e 000000000000001f"
    )
    assert [entry.producer_id for entry in index.overlapping(0, 12)[0]] == [1]
    assert [entry.producer_id for entry in index.overlapping(20, 31)[0]] == [2]
    assert index.overlapping(0, 12)[1], "the last stable offset was above: no later marker can matter"
    assert not index.overlapping(0, 40)[1]
    again = TransactionIndex(FILES, str(path))
    assert again.load()
    assert again.entries() == index.entries()
    again.truncate_to(30)
    assert [entry.producer_id for entry in again.entries()] == [1]
    path.write_bytes(path.read_bytes() + b"\0")
    assert not TransactionIndex(FILES, str(path)).load()


def test_names() -> None:
    assert names.segment_name(42, names.TIME_INDEX) == "00000000000000000042.timeindex"
    assert names.offset_of("00000000000000000042.log.swap") == 42
    assert names.offset_of("leader-epoch-checkpoint") is None
    assert names.parse_partition_directory("my-topic-12") == ("my-topic", 12)
    assert names.parse_partition_directory("a.b_c-0") == ("a.b_c", 0)
    assert names.parse_partition_directory("__cluster_metadata") is None
    deleted = names.deleted_directory("t" * 249, 7, Random(0))
    assert len(deleted) <= 255
    assert names.is_deleted_directory(deleted)
    assert names.parse_partition_directory(deleted) is None
    assert names.parse_partition_directory("t-0." + "a" * 32 + "-future") is None
    assert names.parse_partition_directory("t-delete-0") == ("t-delete", 0)
