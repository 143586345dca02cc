"""A share partition from its load to its loss, with a coordinator that is slow, fails, or knows better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.replication.listing import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kcompat.share.batches import StateBatch
from kcompat.share.key import SharePartitionKey
from kcompat.share.persisting import Outcome, StateWrite
from support.share_fetch_world import GROUP, LOCK_MS, ME, OTHER, ShareFetchWorld
from support.share_partition_world import ACCEPT, RELEASE, RENEW
from support.share_world import TOPIC

if TYPE_CHECKING:
    from pathlib import Path

KEY = SharePartitionKey(GROUP, TOPIC, 0)


@pytest.fixture
def world(tmp_path: Path) -> ShareFetchWorld:
    world = ShareFetchWorld(tmp_path)
    world.produce(*[b"%d" % at for at in range(10)])
    return world


def acquired(world: ShareFetchWorld, member: str = "a") -> list[tuple[int, int]]:
    world.shares.check_invariants()
    fetched = world.fetch(member=member, wait_ms=0)
    world.clock.advance(0)
    return [(each.first_offset, each.last_offset) for _, handed in fetched.value for each in handed.acquired]


def error_of(world: ShareFetchWorld) -> ErrorCode:
    fetched = world.fetch(wait_ms=0)
    world.clock.advance(0)
    ((_, handed),) = fetched.value
    return handed.outcome.error


@pytest.mark.parametrize(
    ("timestamp", "expected"), [(EARLIEST_TIMESTAMP, [(0, 9)]), (LATEST_TIMESTAMP, []), (1000, [(0, 9)])]
)
def test_where_nobody_has_read_the_group_says_where_to_begin(
    world: ShareFetchWorld, timestamp: int, expected: list[tuple[int, int]]
) -> None:
    world.settings.start = timestamp
    assert acquired(world) == expected


def test_where_no_record_is_late_enough_there_is_no_beginning_yet(world: ShareFetchWorld) -> None:
    world.settings.start = 5000
    assert error_of(world) == ErrorCode.OFFSET_NOT_AVAILABLE
    assert len(world.shares) == 0


def test_what_was_never_initialised_is_not_fetched_from(world: ShareFetchWorld) -> None:
    world.coordination.coordinator.delete(KEY)
    assert error_of(world) == ErrorCode.UNKNOWN_SERVER_ERROR
    world.initialize(start_offset=4)
    assert acquired(world) == [(4, 9)]


def test_a_fetch_waits_until_the_state_is_loaded(world: ShareFetchWorld) -> None:
    world.coordination.log.hold()
    waiting = world.fetch()
    assert world.led().machine is None
    assert world.say(0, 0, ACCEPT).value.error == ErrorCode.INVALID_RECORD_STATE
    world.coordination.log.release()
    world.clock.advance(0)
    assert [each[:2] for _, handed in waiting.value for each in handed.acquired] == [(0, 9)]


def test_a_coordinator_that_is_elsewhere_is_said_to_be_unavailable(world: ShareFetchWorld) -> None:
    world.coordination.coordinator.unload(0, 99)
    assert error_of(world) == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_nothing_is_answered_before_it_is_stored(world: ShareFetchWorld) -> None:
    acquired(world)
    world.coordination.log.hold()
    said = world.say(0, 4, ACCEPT)
    assert not said.done
    world.coordination.log.release()
    assert said.value == Outcome()
    assert world.coordination.states()[KEY].batches == (StateBatch(0, 4, 2, 1),)


def test_what_is_said_during_a_write_makes_up_the_next(world: ShareFetchWorld) -> None:
    acquired(world)
    log = world.coordination.log
    before = log.batch_count(0)
    log.hold()
    said = [world.say(offset, offset, ACCEPT) for offset in range(10)]
    assert log.batch_count(0) == before + 1
    log.release()
    assert [promise.value for promise in said] == [Outcome()] * 10
    assert log.batch_count(0) == before + 2
    assert world.coordination.states()[KEY].start_offset == 1  # that of the second write
    world.shares.forget_group(GROUP)
    assert acquired(world) == []


def test_what_cannot_be_stored_is_still_the_members(world: ShareFetchWorld) -> None:
    acquired(world)
    world.coordination.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.say(0, 9, ACCEPT).value.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.coordination.log.error = ErrorCode.NONE
    assert acquired(world, "b") == []
    assert world.say(0, 9, ACCEPT).value == Outcome()


def test_a_renewal_needs_no_write(world: ShareFetchWorld) -> None:
    acquired(world)
    before = world.coordination.log.batch_count(0)
    world.clock.advance(LOCK_MS // 2)
    assert world.say(0, 4, RENEW).value == Outcome()
    assert world.coordination.log.batch_count(0) == before
    world.clock.advance(LOCK_MS // 2)
    assert acquired(world, "b") == [(5, 9)]
    world.clock.advance(LOCK_MS // 2)
    assert acquired(world, "c") == [(0, 4)]


def test_locks_end_though_that_cannot_be_stored(world: ShareFetchWorld) -> None:
    acquired(world)
    world.coordination.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    world.clock.advance(LOCK_MS)
    world.coordination.log.error = ErrorCode.NONE
    assert acquired(world, "b") == [(0, 9)]
    assert world.say(0, 9, RELEASE, member="b").value == Outcome()
    assert world.coordination.states()[KEY].batches == (StateBatch(0, 9, 0, 2),)


def test_a_later_leader_or_another_beginning_fences(world: ShareFetchWorld) -> None:
    acquired(world)
    world.coordination.coordinator.read(KEY, 99)
    assert world.say(0, 0, ACCEPT).value.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert len(world.shares) == 0
    world.initialize(1, state_epoch=1, start_offset=5)
    world.produce(b"0", index=1)
    world.shares.forget_all()
    led = world.led(1)
    world.initialize(1, state_epoch=2, start_offset=0)
    assert led.machine is not None
    assert led.refusal is None


def test_another_beginning_fences_the_writes_of_the_one_before(world: ShareFetchWorld) -> None:
    acquired(world)
    world.initialize(start_offset=3, state_epoch=1)
    said = world.say(0, 9, ACCEPT)
    assert said.value.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert acquired(world) == [(3, 9)]


def test_what_waits_for_a_write_hears_when_the_share_partition_is_lost(world: ShareFetchWorld) -> None:
    acquired(world)
    world.coordination.log.hold()
    first, second = world.say(0, 0, ACCEPT), world.say(1, 1, ACCEPT)
    world.shares.forget_group(GROUP)
    assert (first.done, second.value.error) == (False, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    world.coordination.log.release()
    assert first.value == Outcome()
    assert acquired(world, "b") == [(1, 9)]


def test_another_leader_has_what_was_stored(world: ShareFetchWorld) -> None:
    acquired(world)
    world.say(0, 4, ACCEPT)
    world.say(7, 7, RELEASE)
    world.lead(OTHER)
    assert world.say(8, 8, ACCEPT).value.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.lead(ME)
    assert acquired(world, "b") == [(5, 6), (7, 7), (8, 9)]


def test_who_leads_on_in_a_later_epoch_goes_on(world: ShareFetchWorld) -> None:
    acquired(world)
    world.lead(ME)
    assert world.say(0, 9, ACCEPT).value == Outcome()
    world.lead(ME)
    world.lead(ME)
    assert world.say(0, 0, ACCEPT).value.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert acquired(world, "b") == []


def test_locks_that_end_where_another_leads_change_nothing(world: ShareFetchWorld) -> None:
    acquired(world)
    before = world.coordination.states()
    world.lead(OTHER)
    world.clock.advance(LOCK_MS)
    assert (len(world.shares), world.coordination.states()) == (0, before)


def test_a_state_that_cannot_be_is_not_believed(world: ShareFetchWorld) -> None:
    acquired_state = StateBatch(0, 4, 1, 1)
    world.coordination.coordinator.write(KEY, StateWrite(0, 0, 0, 0, (acquired_state,)))
    assert error_of(world) == ErrorCode.UNKNOWN_SERVER_ERROR


def test_what_nobody_fetches_from_knows_no_records(world: ShareFetchWorld) -> None:
    assert world.say(0, 0, ACCEPT).value.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
