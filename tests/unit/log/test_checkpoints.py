"""Offset and epoch checkpoints, `partition.metadata`, `meta.properties`: the bytes that Kafka writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log import checkpoints
from kcompat.log.checkpoints import CheckpointDamaged
from kcompat.log.files import FILES

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


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "meta.properties"
    taken.mkdir()
    with pytest.raises(IsADirectoryError, match=r"meta\.properties"):
        checkpoints.read_optional(FILES, str(taken))


def test_clean_shutdown_and_meta_properties() -> None:
    assert checkpoints.format_clean_shutdown(7) == b'{"version":0,"brokerEpoch":7}'
    assert checkpoints.parse_clean_shutdown(b'{"version":0,"brokerEpoch":7}') == 7
    assert checkpoints.parse_clean_shutdown(b"") == -1
    properties = {"version": "0", "broker.id": "1", "cluster.id": "x"}
    assert checkpoints.format_properties(properties) == b"broker.id=1\ncluster.id=x\nversion=0\n"
    assert (
        checkpoints.parse_properties(b"#\n#Sat Nov 21\ncluster.id=x\nbroker.id=1\nversion=0\n") == properties
    )
