"""Dumps of indexes, snapshots, checkpoints and identities."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from kcompat.log.dump.segment import Depth
from support.log_dumps import batch_at, damage_in, rows_of

if TYPE_CHECKING:
    from pathlib import Path


def test_an_offset_index(tmp_path: Path) -> None:
    first, second, third = batch_at(100), batch_at(101, b"a", b"b"), batch_at(103)
    (tmp_path / "00000000000000000100.log").write_bytes(first + second + third)
    path = tmp_path / "00000000000000000100.index"
    at_second, at_third = len(first), len(first) + len(second)
    path.write_bytes(struct.pack(">iiii", 2, at_second, 3, at_third) + bytes(80))
    rows = rows_of(path)
    assert [(row.kind, row.at, row.fields) for row in rows] == [
        ("index", 0, {"offset": 102, "position": at_second}),
        ("index", 8, {"offset": 103, "position": at_third}),
    ]
    path.write_bytes(struct.pack(">iiii", 1, at_second, 3, at_third - 1) + b"\1\2")
    assert damage_in(path) == [
        (0, f"the batch at position {at_second} of the log ends at offset 102, not 101"),
        (8, f"no batch begins at position {at_third - 1} of the log"),
        (16, "the last 2 bytes are no whole entry"),
    ]
    path.write_bytes(struct.pack(">ii", 3, at_second))  # both batches in one append
    assert damage_in(path) == []
    path.write_bytes(struct.pack(">ii", 4, at_second))
    assert damage_in(path) == [(0, "no batch of the log ends at offset 104")]
    path.write_bytes(struct.pack(">iiii", 3, at_third, 2, at_second))
    assert damage_in(path) == [(8, "the entry does not lie above the one before it")]
    assert damage_in(path, Depth()) == [(8, "the entry does not lie above the one before it")]
    (tmp_path / "00000000000000000100.log").write_bytes(first + second + batch_at(105))
    path.write_bytes(struct.pack(">ii", 4, at_second))
    assert damage_in(path) == [(0, "no batch of the log ends at offset 104")]


def test_a_time_index(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000100.log").write_bytes(batch_at(100) + batch_at(101) + batch_at(102))
    path = tmp_path / "00000000000000000100.timeindex"
    path.write_bytes(struct.pack(">qiqi", 1100, 0, 1102, 2) + bytes(120))
    assert [(row.kind, row.at, row.fields) for row in rows_of(path)] == [
        ("index", 0, {"timestamp": 1100, "offset": 100}),
        ("index", 12, {"timestamp": 1102, "offset": 102}),
    ]
    path.write_bytes(struct.pack(">qiqiqi", 1100, 1, 1102, 3, 1101, 4))
    assert damage_in(path) == [
        (0, "the largest timestamp up to offset 101 is 1101, not 1100"),
        (12, "the log ends before offset 103"),
        (24, "the entry does not lie above the one before it"),
    ]


def test_one_entry_of_zeros_is_an_entry_and_many_are_none(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.timeindex"
    path.write_bytes(bytes(12))
    assert [row.fields for row in rows_of(path)] == [{"timestamp": 0, "offset": 0}]
    path.write_bytes(bytes(12 * 20_000))
    assert rows_of(path) == []


def test_a_transaction_index_that_names_no_marker(partition: Path) -> None:
    path = next(partition.glob("*.txnindex"))
    path.write_bytes(struct.pack(">hqqqq", 0, 7, 21, 29, 31) + struct.pack(">hqqqq", 1, 7, 30, 40, 41))
    assert damage_in(path) == [
        (0, "no control batch of producer 7 at offset 29"),
        (34, "version 1 is not known"),
    ]


@pytest.mark.leaves_damage("a damaged snapshot is shown")
def test_a_producer_snapshot(partition: Path) -> None:
    path = partition / "00000000000000000062.snapshot"
    assert [row.fields for row in rows_of(path)] == [
        {
            "producerId": 7,
            "producerEpoch": 0,
            "coordinatorEpoch": 2,
            "currentTxnFirstOffset": -1,
            "lastTimestamp": 1059,
            "firstSequence": 59,
            "lastSequence": 59,
            "lastOffset": 60,
            "offsetDelta": 0,
        }
    ]
    older = partition / "00000000000000000060.snapshot"
    older.write_bytes(path.read_bytes())
    assert damage_in(older) == [(0, "producer 7 wrote offset 60, above the snapshot")]
    older.write_bytes(b"\0\1" + bytes(8))
    assert damage_in(older) == [(0, "the CRC is wrong")]


def test_checkpoints_and_identities(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_bytes(b"version=0\nbroker.id=3\ncluster.id=abc\n")
    (tmp_path / "recovery-point-offset-checkpoint").write_bytes(b"0\n2\na 0 5\nb-c 1 7\n")
    (tmp_path / "log-start-offset-checkpoint").write_bytes(b"0\n2\na 0 5\n")
    (tmp_path / ".kafka_cleanshutdown").write_bytes(b'{"version":0,"brokerEpoch":12}')
    (tmp_path / "unknown").write_bytes(b"?")
    assert [(row.kind, row.fields) for row in rows_of(tmp_path)] == [
        ("clean", {"brokerEpoch": 12}),
        ("damage", {"message": "1 entries where 2 are announced"}),
        ("meta", {"broker.id": "3", "cluster.id": "abc", "version": "0"}),
        ("offset", {"topic": "a", "partition": 0, "offset": 5}),
        ("offset", {"topic": "b-c", "partition": 1, "offset": 7}),
    ]
