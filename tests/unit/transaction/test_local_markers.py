"""Markers in the partitions of one broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.log.append import WITHOUT_PROOF
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker
from kcompat.replication.coordinator_logs import PartitionMarkerLog
from kcompat.transaction.local_markers import LocalMarkers
from kcompat.transaction.markers import Marker
from kcompat.transaction.requests import Producer
from support.topics_on_disk import ME, NOW, TopicsFixture, batch

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.coordinator.operation import Writer

OTHER = 2
TIMEOUT_MS = 30_000
OFFSETS = "__consumer_offsets"


class Scene:
    """A broker with partitions of t and of `__consumer_offsets`; groups say what `said` is."""

    def __init__(self, home: Path) -> None:
        self.fixture = TopicsFixture(home)
        self.fixture.create("t", partitions=2)
        self.fixture.create(OFFSETS, partitions=1)
        self.said = ErrorCode.NONE
        self.ended: list[tuple[int, int, int, EndTransactionMarker]] = []
        self.markers = LocalMarkers(
            PartitionMarkerLog(self.fixture.replicas),
            self._end,
            self.fixture.clock,
            TIMEOUT_MS,
        )

    def _end(self, partition: int, writer: Writer, marker: EndTransactionMarker) -> Promise[ErrorCode]:
        self.ended.append((partition, writer.producer_id, writer.epoch, marker))
        return Promise.resolved(self.said)

    def begin(self, index: int = 0, epoch: int = 0) -> None:
        """Producer 7 writes in a transaction."""
        sent = batch(b"v", producer_id=7, producer_epoch=epoch, base_sequence=0, transactional=True)
        view = memoryview(bytearray(sent))
        self.fixture.partition("t", index).append(view, read_header(view), 1, NOW, WITHOUT_PROOF)

    def among_two(self) -> None:
        """Broker 2 follows partition 0 of t."""
        role = Role(leader=ME, leader_epoch=5, isr=(ME, OTHER), replicas=(ME, OTHER))
        self.fixture.replicas.take_role("t", 0, role)


def marker(
    *partitions: tuple[str, int],
    commits: bool = True,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    version: int = 0,
) -> Marker:
    return Marker(Producer(7, epoch), coordinator_epoch, commits, version, partitions)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.mark.parametrize("commits", [True, False])
def test_a_marker_ends_the_transaction_in_each_partition(scene: Scene, commits: bool) -> None:
    for index in range(2):
        scene.begin(index)
        assert scene.fixture.partition("t", index).last_stable_offset == 0
    written = scene.markers.write(marker(("t", 0), ("t", 1), commits=commits))
    assert written.value == {("t", 0): 0, ("t", 1): 0}
    for index in range(2):
        partition = scene.fixture.partition("t", index)
        assert partition.last_stable_offset == 2
        assert bool(partition.log.aborted_transactions(0, 2)) != commits


def test_what_is_refused(scene: Scene) -> None:
    scene.begin(epoch=3)
    assert scene.markers.write(marker(("t", 0), epoch=2)).value == {("t", 0): 47}
    assert scene.markers.write(marker(("t", 0), epoch=3, version=2)).value == {("t", 0): 47}
    assert scene.markers.write(marker(("t", 0), epoch=3, coordinator_epoch=4)).value == {("t", 0): 0}
    assert scene.markers.write(marker(("t", 0), epoch=3, coordinator_epoch=3)).value == {("t", 0): 52}
    assert scene.markers.write(marker(("t", 9), ("no", 0))).value == {("t", 9): 3, ("no", 0): 3}


def test_another_broker_leads(scene: Scene) -> None:
    role = Role(leader=OTHER, leader_epoch=5, isr=(ME, OTHER), replicas=(ME, OTHER))
    scene.fixture.replicas.take_role("t", 0, role)
    assert scene.markers.write(marker(("t", 0))).value == {("t", 0): 6}


def test_the_answer_waits_for_all_in_sync(scene: Scene) -> None:
    scene.among_two()
    written = scene.markers.write(marker(("t", 0), ("t", 1)))
    assert not written.done
    scene.fixture.clock.advance(29_999)
    assert not written.done
    scene.fixture.clock.advance(1)
    assert written.value == {("t", 1): 0, ("t", 0): ErrorCode.REQUEST_TIMED_OUT}


@pytest.mark.parametrize(("said", "told"), [(0, 0), (14, 6), (15, 6), (16, 6), (47, 47)])
def test_offsets_are_ended_by_the_groups(scene: Scene, said: int, told: int) -> None:
    scene.said = error_of(said)
    assert scene.markers.write(marker((OFFSETS, 0), epoch=2, coordinator_epoch=8)).value == {
        (OFFSETS, 0): told
    }
    assert scene.ended == [(0, 7, 2, EndTransactionMarker(ControlType.COMMIT, 8))]
    assert scene.fixture.partition(OFFSETS).log.log_end_offset == 0


def test_offsets_of_a_partition_elsewhere_are_not_ended(scene: Scene) -> None:
    assert scene.markers.write(marker((OFFSETS, 9))).value == {(OFFSETS, 9): 3}
    assert scene.ended == []
