"""The share coordinator over its life: partitions come and go, topics too, and the head of its log."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.share.batches import StateBatch
from kcompat.share.coordinator.shard import ShareCoordinatorConfig
from kcompat.share.persister import StateWrite
from support.default_settings import with_defaults
from support.share_coordinators import KEY, TOPIC, ShareCoordinatorFixture

ACKNOWLEDGED = 2
OTHER = KEY._replace(partition=1)
INTERVAL_MS = 1000


def pruning_each_second(updates_per_snapshot: int = 500) -> ShareCoordinatorFixture:
    """Log heads are deleted every second, cold snapshots written every ten."""
    return ShareCoordinatorFixture(
        with_defaults(
            ShareCoordinatorConfig,
            updates_per_snapshot=updates_per_snapshot,
            prune_interval_ms=INTERVAL_MS,
            cold_snapshot_interval_ms=10 * INTERVAL_MS,
        )
    )


def test_what_is_not_led_here_is_not_answered() -> None:
    fixture = ShareCoordinatorFixture()
    fixture.coordinator.unload(0, 2)
    answer = fixture.coordinator.read(KEY, 0).value
    assert answer.error == ErrorCode.NOT_COORDINATOR
    assert answer.message == "Unable to read share group state: Another broker is the coordinator."


@pytest.mark.parametrize(
    ("error", "answered"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_cannot_be_appended_changes_nothing(error: ErrorCode, answered: ErrorCode) -> None:
    fixture = ShareCoordinatorFixture()
    fixture.coordinator.initialize(KEY, 0, 0)
    before = fixture.states()
    fixture.log.error = error
    assert fixture.write(StateBatch(0, 0, ACKNOWLEDGED, 1)) == answered
    assert fixture.states() == before


def test_a_write_that_is_not_committed_in_time_is_answered() -> None:
    fixture = ShareCoordinatorFixture(with_defaults(ShareCoordinatorConfig, write_timeout_ms=100))
    fixture.coordinator.initialize(KEY, 0, 0)
    fixture.log.hold()
    written = fixture.coordinator.write(KEY, StateWrite(0, 0, 5, 0, ()))
    fixture.clock.advance(100)
    assert written.value.error == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_the_next_leader_knows_all_updates() -> None:
    fixture = ShareCoordinatorFixture()
    fixture.coordinator.initialize(KEY, 2, 0)
    for offset in (0, 5, 3):
        fixture.write(StateBatch(offset, offset, ACKNOWLEDGED, 1), state_epoch=2)
    before = fixture.states()
    fixture.restart()
    assert fixture.states() == before
    assert [batch.first_offset for batch in before[KEY].batches] == [0, 3, 5]


def test_each_key_has_its_partition_of_the_state_topic() -> None:
    fixture = ShareCoordinatorFixture(state_partitions=7)
    for partition in range(4):
        key = KEY._replace(partition=partition)
        fixture.coordinator.initialize(key, 0, 0)
        assert fixture.log.batch_count(fixture.coordinator.partition_of(key)) > 0
    assert sum(fixture.log.batch_count(partition) for partition in range(7)) == 4


def test_share_partitions_of_deleted_topics_are_forgotten() -> None:
    fixture = ShareCoordinatorFixture()
    other = KEY._replace(topic_id=b"\1" * 16)
    fixture.topics[other.topic_id] = 1
    for key in (KEY, OTHER, other):
        fixture.coordinator.initialize(key, 0, 0)
    fixture.coordinator.forget_topics({TOPIC})
    assert fixture.states().keys() == {other}
    fixture.restart()
    assert fixture.states().keys() == {other}


def test_what_later_snapshots_made_redundant_is_deleted_once() -> None:
    fixture = pruning_each_second(updates_per_snapshot=1)
    fixture.coordinator.initialize(KEY, 0, 0)  # offset 0
    fixture.coordinator.initialize(OTHER, 0, 0)  # 1
    fixture.clock.advance(INTERVAL_MS)
    assert fixture.log.deletions == []
    fixture.write()  # 2, an update
    fixture.write()  # 3, a snapshot
    fixture.clock.advance(INTERVAL_MS)
    assert fixture.log.deletions == [(0, 1)]
    fixture.clock.advance(3 * INTERVAL_MS)
    assert fixture.log.deletions == [(0, 1)]
    fixture.coordinator.delete(OTHER)  # 4
    fixture.clock.advance(INTERVAL_MS)
    assert fixture.log.deletions == [(0, 1), (0, 3)]
    before = fixture.states()
    fixture.restart()
    assert fixture.states() == before


def test_a_log_of_nothing_but_deleted_partitions_is_deleted_up_to_the_last_tombstone() -> None:
    fixture = pruning_each_second()
    fixture.coordinator.initialize(KEY, 0, 0)
    fixture.coordinator.delete(KEY)
    fixture.clock.advance(INTERVAL_MS)
    assert fixture.log.deletions == [(0, 1)]


def test_what_is_not_committed_makes_nothing_redundant() -> None:
    fixture = pruning_each_second(updates_per_snapshot=0)
    fixture.coordinator.initialize(KEY, 0, 0)
    fixture.log.hold()
    fixture.coordinator.write(KEY, StateWrite(0, 0, 0, 0, ()))
    fixture.clock.advance(INTERVAL_MS)
    assert fixture.log.deletions == []
    fixture.log.release()
    fixture.clock.advance(INTERVAL_MS)
    assert fixture.log.deletions == [(0, 1)]


def test_a_deletion_that_fails_is_tried_again() -> None:
    fixture = pruning_each_second(updates_per_snapshot=0)
    fixture.coordinator.initialize(KEY, 0, 0)
    fixture.write()
    fixture.log.deletion_error = ErrorCode.KAFKA_STORAGE_ERROR
    fixture.clock.advance(INTERVAL_MS)
    fixture.log.deletion_error = ErrorCode.NONE
    fixture.clock.advance(INTERVAL_MS)
    assert fixture.log.deletions == [(0, 1)]


def test_cold_partitions_are_written_anew_until_all_is_quiet() -> None:
    fixture = pruning_each_second()
    fixture.coordinator.initialize(KEY, 0, 0)
    fixture.clock.advance(5 * INTERVAL_MS)
    fixture.coordinator.initialize(OTHER, 0, 0)
    fixture.clock.advance(5 * INTERVAL_MS)
    epochs = {key: state.snapshot_epoch for key, state in fixture.states().items()}
    assert epochs == {KEY: 1, OTHER: 0}
    fixture.clock.advance(10 * INTERVAL_MS)
    quiet = {key: state.snapshot_epoch for key, state in fixture.states().items()}
    assert quiet == {KEY: 2, OTHER: 1}
    fixture.clock.advance(100 * INTERVAL_MS)
    assert {key: state.snapshot_epoch for key, state in fixture.states().items()} == quiet
    before = fixture.states()
    fixture.restart()
    assert fixture.states() == before


def test_without_share_groups_nothing_is_tidied() -> None:
    fixture = pruning_each_second(updates_per_snapshot=0)
    fixture.is_enabled = False
    fixture.coordinator.initialize(KEY, 0, 0)
    fixture.write()
    fixture.clock.advance(20 * INTERVAL_MS)
    assert (fixture.log.deletions, fixture.log.batch_count(0)) == ([], 2)
    fixture.is_enabled = True
    fixture.clock.advance(INTERVAL_MS)
    assert fixture.log.deletions == [(0, 1)]


def test_a_coordinator_that_stops_tidies_no_more() -> None:
    fixture = pruning_each_second(updates_per_snapshot=0)
    fixture.coordinator.initialize(KEY, 0, 0)
    fixture.write()
    fixture.coordinator.stop()
    fixture.clock.advance(20 * INTERVAL_MS)
    assert fixture.log.deletions == []
