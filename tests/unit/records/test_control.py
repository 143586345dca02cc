"""Transaction markers, against the bytes Kafka writes."""

from __future__ import annotations

import pytest

from kcompat.records.batch import build_batch, read_header, read_records
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker, read_marker
from kcompat.records.errors import RecordsDamaged
from kcompat.records.record import Record


def control_batch(key: str, value: str) -> memoryview:
    record = Record(0, 0, bytes.fromhex(key), bytes.fromhex(value))
    return memoryview(build_batch([record], control=True, transactional=True))


@pytest.mark.parametrize(
    ("type_", "key"), [(ControlType.ABORT, "00000000"), (ControlType.COMMIT, "00000001")]
)
def test_a_marker_reads_back(type_: ControlType, key: str) -> None:
    marker = EndTransactionMarker(type_, 17)
    batch = memoryview(build_marker(marker, producer_id=9, producer_epoch=2, timestamp=5, leader_epoch=3))
    header = read_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, -1)
    assert (header.max_timestamp, header.leader_epoch) == (5, 3)
    assert list(read_records(batch)) == [Record(0, 5, bytes.fromhex(key), bytes.fromhex("0000 00000011"))]
    assert read_marker(batch) == marker


def test_newer_versions_may_be_longer() -> None:
    batch = control_batch("0001 0001 ff", "0001 00000002 ffff")
    assert read_marker(batch) == EndTransactionMarker(ControlType.COMMIT, 2)


@pytest.mark.parametrize("type_", [2, 3, 7, 32767, 0xFFFF])
def test_other_control_records_end_no_transaction(type_: int) -> None:
    assert read_marker(control_batch(f"0000{type_:04x}", "")) is None


@pytest.mark.parametrize(("key", "value"), [("", "0000 00000001"), ("000000", ""), ("00000001", "0000 0000")])
def test_short_markers_are_damage(key: str, value: str) -> None:
    with pytest.raises(RecordsDamaged, match=r"control record|marker"):
        read_marker(control_batch(key, value))
