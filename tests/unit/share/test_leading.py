"""A share partition from its load to its loss, with a coordinator that is slow, fails, or knows better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.replication.listing import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kcompat.share.batches import StateBatch
from kcompat.share.key import SharePartitionKey
from kcompat.share.persister import Outcome, StateWrite
from support.share_coordinators import TOPIC
from support.share_partitions import ACCEPT, GROUP, LOCK_MS, ME, OTHER, RELEASE, RENEW, ShareFetchFixture

if TYPE_CHECKING:
    from pathlib import Path

KEY = SharePartitionKey(GROUP, TOPIC, 0)


@pytest.fixture
def fixture(tmp_path: Path) -> ShareFetchFixture:
    fixture = ShareFetchFixture(tmp_path)
    fixture.produce(*[b"%d" % at for at in range(10)])
    return fixture


def acquired(fixture: ShareFetchFixture, member: str = "a") -> list[tuple[int, int]]:
    fixture.shares.check_invariants()
    fetched = fixture.fetch(member=member, wait_ms=0)
    fixture.clock.advance(0)
    return [(each.first_offset, each.last_offset) for _, handed in fetched.value for each in handed.acquired]


def error_of(fixture: ShareFetchFixture) -> ErrorCode:
    fetched = fixture.fetch(wait_ms=0)
    fixture.clock.advance(0)
    ((_, handed),) = fetched.value
    return handed.outcome.error


@pytest.mark.parametrize(
    ("timestamp", "expected"), [(EARLIEST_TIMESTAMP, [(0, 9)]), (LATEST_TIMESTAMP, []), (1000, [(0, 9)])]
)
def test_where_nobody_has_read_the_group_says_where_to_begin(
    fixture: ShareFetchFixture, timestamp: int, expected: list[tuple[int, int]]
) -> None:
    fixture.settings.start = timestamp
    assert acquired(fixture) == expected


def test_where_no_record_is_late_enough_there_is_no_beginning_yet(fixture: ShareFetchFixture) -> None:
    fixture.settings.start = 5000
    assert error_of(fixture) == ErrorCode.OFFSET_NOT_AVAILABLE
    assert len(fixture.shares) == 0


def test_what_was_never_initialised_is_not_fetched_from(fixture: ShareFetchFixture) -> None:
    fixture.coordination.coordinator.delete(KEY)
    assert error_of(fixture) == ErrorCode.UNKNOWN_SERVER_ERROR
    fixture.initialize(start_offset=4)
    assert acquired(fixture) == [(4, 9)]


def test_a_fetch_waits_until_the_state_is_loaded(fixture: ShareFetchFixture) -> None:
    fixture.coordination.log.hold()
    waiting = fixture.fetch()
    assert fixture.led().machine is None
    assert fixture.say(0, 0, ACCEPT).value.error == ErrorCode.INVALID_RECORD_STATE
    fixture.coordination.log.release()
    fixture.clock.advance(0)
    assert [each[:2] for _, handed in waiting.value for each in handed.acquired] == [(0, 9)]


def test_a_coordinator_that_is_elsewhere_is_said_to_be_unavailable(fixture: ShareFetchFixture) -> None:
    fixture.coordination.coordinator.unload(0, 99)
    assert error_of(fixture) == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_nothing_is_answered_before_it_is_stored(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    fixture.coordination.log.hold()
    said = fixture.say(0, 4, ACCEPT)
    assert not said.done
    fixture.coordination.log.release()
    assert said.value == Outcome()
    assert fixture.coordination.states()[KEY].batches == (StateBatch(0, 4, 2, 1),)


def test_what_is_said_during_a_write_makes_up_the_next(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    log = fixture.coordination.log
    before = log.batch_count(0)
    log.hold()
    said = [fixture.say(offset, offset, ACCEPT) for offset in range(10)]
    assert log.batch_count(0) == before + 1
    log.release()
    assert [promise.value for promise in said] == [Outcome()] * 10
    assert log.batch_count(0) == before + 2
    assert fixture.coordination.states()[KEY].start_offset == 1  # that of the second write
    fixture.shares.forget_group(GROUP)
    assert acquired(fixture) == []


def test_what_cannot_be_stored_is_still_the_members(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    fixture.coordination.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert fixture.say(0, 9, ACCEPT).value.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    fixture.coordination.log.error = ErrorCode.NONE
    assert acquired(fixture, "b") == []
    assert fixture.say(0, 9, ACCEPT).value == Outcome()


def test_a_renewal_needs_no_write(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    before = fixture.coordination.log.batch_count(0)
    fixture.clock.advance(LOCK_MS // 2)
    assert fixture.say(0, 4, RENEW).value == Outcome()
    assert fixture.coordination.log.batch_count(0) == before
    fixture.clock.advance(LOCK_MS // 2)
    assert acquired(fixture, "b") == [(5, 9)]
    fixture.clock.advance(LOCK_MS // 2)
    assert acquired(fixture, "c") == [(0, 4)]


def test_locks_end_though_that_cannot_be_stored(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    fixture.coordination.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    fixture.clock.advance(LOCK_MS)
    fixture.coordination.log.error = ErrorCode.NONE
    assert acquired(fixture, "b") == [(0, 9)]
    assert fixture.say(0, 9, RELEASE, member="b").value == Outcome()
    assert fixture.coordination.states()[KEY].batches == (StateBatch(0, 9, 0, 2),)


def test_a_later_leader_or_another_beginning_fences(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    fixture.coordination.coordinator.read(KEY, 99)
    assert fixture.say(0, 0, ACCEPT).value.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert len(fixture.shares) == 0
    fixture.initialize(1, state_epoch=1, start_offset=5)
    fixture.produce(b"0", index=1)
    fixture.shares.forget_all()
    led = fixture.led(1)
    fixture.initialize(1, state_epoch=2, start_offset=0)
    assert led.machine is not None
    assert led.refusal is None


def test_another_beginning_fences_the_writes_of_the_one_before(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    fixture.initialize(start_offset=3, state_epoch=1)
    said = fixture.say(0, 9, ACCEPT)
    assert said.value.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert acquired(fixture) == [(3, 9)]


def test_what_waits_for_a_write_hears_when_the_share_partition_is_lost(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    fixture.coordination.log.hold()
    first, second = fixture.say(0, 0, ACCEPT), fixture.say(1, 1, ACCEPT)
    fixture.shares.forget_group(GROUP)
    assert (first.done, second.value.error) == (False, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    fixture.coordination.log.release()
    assert first.value == Outcome()
    assert acquired(fixture, "b") == [(1, 9)]


def test_another_leader_has_what_was_stored(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    fixture.say(0, 4, ACCEPT)
    fixture.say(7, 7, RELEASE)
    fixture.lead(OTHER)
    assert fixture.say(8, 8, ACCEPT).value.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    fixture.lead(ME)
    assert acquired(fixture, "b") == [(5, 6), (7, 7), (8, 9)]


def test_who_leads_on_in_a_later_epoch_goes_on(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    fixture.lead(ME)
    assert fixture.say(0, 9, ACCEPT).value == Outcome()
    fixture.lead(ME)
    fixture.lead(ME)
    assert fixture.say(0, 0, ACCEPT).value.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert acquired(fixture, "b") == []


def test_locks_that_end_where_another_leads_change_nothing(fixture: ShareFetchFixture) -> None:
    acquired(fixture)
    before = fixture.coordination.states()
    fixture.lead(OTHER)
    fixture.clock.advance(LOCK_MS)
    assert (len(fixture.shares), fixture.coordination.states()) == (0, before)


def test_a_state_that_cannot_be_is_not_believed(fixture: ShareFetchFixture) -> None:
    acquired_state = StateBatch(0, 4, 1, 1)
    fixture.coordination.coordinator.write(KEY, StateWrite(0, 0, 0, 0, (acquired_state,)))
    assert error_of(fixture) == ErrorCode.UNKNOWN_SERVER_ERROR


def test_what_nobody_fetches_from_knows_no_records(fixture: ShareFetchFixture) -> None:
    assert fixture.say(0, 0, ACCEPT).value.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
