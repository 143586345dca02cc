"""Acknowledgements that members may send, and their effects."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.share.batches import StateBatch
from kcompat.share.partition.acknowledgement import (
    NO_RENEWALS,
    NOT_ACQUIRED,
    NOT_IN_FLIGHT,
    OF_ANOTHER,
    PAST_IN_FLIGHT,
    UNDER_WAY,
    Acknowledgement,
)
from kcompat.share.partition.in_flight import SpanChange
from kcompat.share.persister import Outcome, StateWrite
from support.current import current
from support.share_partitions import ACCEPT, GAP, LOCK_MS, REJECT, RELEASE, RENEW, SharePartitionFixture

ACKNOWLEDGED, ARCHIVED, AVAILABLE = 2, 4, 0


@pytest.fixture
def fixture() -> SharePartitionFixture:
    """Member a has 0 to 4 and 5 to 9."""
    fixture = SharePartitionFixture()
    fixture.fetch((0, 4))
    fixture.fetch((5, 9))
    return fixture


def begun(fixture: SharePartitionFixture, first: int, last: int, *types: int) -> SpanChange:
    change = fixture.begin(first, last, *types)
    assert isinstance(change, SpanChange)
    return change


@pytest.mark.parametrize(
    ("kind", "state"),
    [(GAP, ARCHIVED), (ACCEPT, ACKNOWLEDGED), (RELEASE, AVAILABLE), (REJECT, ARCHIVED)],
)
def test_each_type_leads_to_its_state(fixture: SharePartitionFixture, kind: int, state: int) -> None:
    change = begun(fixture, 2, 6, kind)
    assert change.batches == [StateBatch(2, 6, state, 1)]
    fixture.settle(change)
    stored = [(each.first, each.last, each.state) for each in fixture.partition.spans() if not each.member_id]
    assert stored == [(2, 4, state), (5, 6, state)]
    assert fixture.partition.next_fetch_offset == (2 if kind is RELEASE else 10)


def test_what_is_said_of_each_record_is_stored_in_ranges(fixture: SharePartitionFixture) -> None:
    change = begun(fixture, 0, 6, ACCEPT, ACCEPT, REJECT, GAP, RELEASE, ACCEPT, ACCEPT)
    assert change.batches == [
        StateBatch(0, 1, ACKNOWLEDGED, 1),
        StateBatch(2, 3, ARCHIVED, 1),
        StateBatch(4, 4, AVAILABLE, 1),
        StateBatch(5, 6, ACKNOWLEDGED, 1),
    ]
    assert list(Acknowledgement(0, 3, [1, 1, 2, 1]).runs()) == [(0, 1, 1), (2, 2, 2), (3, 3, 1)]


def test_nothing_counts_before_it_is_stored(fixture: SharePartitionFixture) -> None:
    accepted, released = begun(fixture, 0, 3, ACCEPT), begun(fixture, 5, 9, RELEASE)
    assert fixture.partition.write(accepted.batches) == StateWrite(
        state_epoch=7,
        leader_epoch=3,
        start_offset=0,
        delivery_complete_count=4,
        batches=(StateBatch(0, 3, ACKNOWLEDGED, 1),),
    )
    assert (fixture.partition.start_offset, fixture.partition.next_fetch_offset) == (0, 10)
    fixture.settle(released)
    assert (fixture.partition.start_offset, fixture.partition.next_fetch_offset) == (0, 5)
    fixture.settle(accepted)
    assert (fixture.partition.start_offset, fixture.partition.next_fetch_offset) == (4, 5)
    assert fixture.partition.write(()).delivery_complete_count == 0


def test_what_could_not_be_stored_is_the_members_still(fixture: SharePartitionFixture) -> None:
    before = fixture.in_flight
    for kind in (ACCEPT, RELEASE, REJECT):
        fixture.settle(begun(fixture, 1, 6, kind), is_stored=False)
        assert fixture.in_flight == before
    fixture.say(0, 9, ACCEPT)
    assert fixture.partition.start_offset == 10


def test_what_could_not_be_stored_until_the_lock_ended_is_free(fixture: SharePartitionFixture) -> None:
    change = begun(fixture, 0, 9, ACCEPT)
    fixture.now_ms = LOCK_MS
    assert fixture.partition.expire(fixture.limits, fixture.now_ms) == []
    fixture.settle(change, is_stored=False)
    assert fixture.in_flight == ["0-4 AVAILABLE x1", "5-9 AVAILABLE x1"]
    assert fixture.partition.next_fetch_offset == 0


def test_a_lock_that_outlives_a_failed_write_ends(fixture: SharePartitionFixture) -> None:
    change = begun(fixture, 0, 9, ACCEPT)
    fixture.partition.lock_ends_ms = None
    fixture.settle(change, is_stored=False)
    assert fixture.partition.lock_ends_ms == LOCK_MS


def test_the_last_delivery_is_not_followed_by_another() -> None:
    fixture = SharePartitionFixture(delivery_count_limit=2)
    for _ in range(2):
        fixture.fetch((0, 1))
        change = begun(fixture, 0, 1, RELEASE)
        fixture.settle(change)
    assert change.batches == [StateBatch(0, 1, ARCHIVED, 2)]
    assert fixture.partition.start_offset == 2


@pytest.mark.parametrize(
    ("first", "last", "member", "refusal"),
    [
        pytest.param(10, 12, "a", PAST_IN_FLIGHT, id="never acquired"),
        pytest.param(8, 10, "a", PAST_IN_FLIGHT, id="partly never acquired"),
        pytest.param(0, 4, "b", OF_ANOTHER, id="another's"),
        pytest.param(2, 3, "b", OF_ANOTHER, id="partly another's"),
    ],
)
def test_what_a_member_does_not_have_it_cannot_acknowledge(
    fixture: SharePartitionFixture, first: int, last: int, member: str, refusal: Outcome
) -> None:
    before = fixture.in_flight
    assert fixture.begin(first, last, ACCEPT, member=member) == refusal
    assert fixture.in_flight == before


def test_what_is_said_twice_is_refused_as_a_whole(fixture: SharePartitionFixture) -> None:
    change = begun(fixture, 3, 3, ACCEPT)
    before = fixture.in_flight
    assert fixture.begin(0, 9, ACCEPT) == UNDER_WAY
    assert fixture.in_flight == before
    fixture.settle(change)
    assert fixture.begin(0, 9, ACCEPT) == NOT_ACQUIRED
    said = [Acknowledgement(0, 2, [ACCEPT]), Acknowledgement(2, 2, [ACCEPT])]
    assert fixture.partition.acknowledge("a", said, fixture.limits, 0) == UNDER_WAY
    fixture.say(0, 2, ACCEPT)
    assert fixture.partition.start_offset == 4


def test_what_the_start_has_passed_needs_no_word(fixture: SharePartitionFixture) -> None:
    fixture.say(0, 4, ACCEPT)
    fixture.say(0, 3, REJECT, member="b")
    fixture.say(2, 6, ACCEPT)
    assert fixture.partition.start_offset == 7
    fixture.say(7, 9, ACCEPT)
    assert fixture.begin(5, 12, ACCEPT) == NOT_IN_FLIGHT


@pytest.mark.parametrize("types", [(5,), (-1,), (ACCEPT, 9)])
def test_other_types_are_not_known(fixture: SharePartitionFixture, types: tuple[int, ...]) -> None:
    refusal = fixture.begin(0, 1, *types)
    assert isinstance(refusal, Outcome)
    assert refusal.error == ErrorCode.INVALID_REQUEST


def test_a_renewed_lock_begins_anew(fixture: SharePartitionFixture) -> None:
    fixture.now_ms = LOCK_MS // 2
    assert begun(fixture, 3, 6, RENEW).batches == []
    fixture.now_ms = LOCK_MS
    stored = fixture.partition.expire(fixture.limits, fixture.now_ms)
    assert stored == [StateBatch(0, 2, AVAILABLE, 1), StateBatch(7, 9, AVAILABLE, 1)]
    assert current(fixture.partition.lock_ends_ms) == LOCK_MS + LOCK_MS // 2
    fixture.now_ms = LOCK_MS + LOCK_MS // 2
    fixture.partition.expire(fixture.limits, fixture.now_ms)
    assert fixture.partition.lock_ends_ms is None
    assert fixture.in_flight == ["0-4 AVAILABLE x1", "5-9 AVAILABLE x1"]


def test_renewals_can_be_forbidden() -> None:
    fixture = SharePartitionFixture(renew_acknowledge=False)
    fixture.fetch((0, 4))
    assert fixture.begin(0, 4, RENEW) == NO_RENEWALS
    assert fixture.begin(0, 1, ACCEPT, RENEW) == NO_RENEWALS
    assert fixture.in_flight == ["0-4 ACQUIRED x1 by 'a'"]


def test_a_shorter_lock_ends_earlier(fixture: SharePartitionFixture) -> None:
    fixture.limits = fixture.limits._replace(record_lock_duration_ms=100)
    begun(fixture, 3, 3, RENEW)
    assert fixture.partition.lock_ends_ms == 100


def test_a_member_that_leaves_gives_back_all_it_has(fixture: SharePartitionFixture) -> None:
    fixture.fetch((10, 14), member="b")
    fixture.say(5, 5, ACCEPT)
    under_way = begun(fixture, 0, 0, ACCEPT)
    change = fixture.partition.release("a", fixture.limits)
    assert change.batches == [StateBatch(1, 4, AVAILABLE, 1), StateBatch(6, 9, AVAILABLE, 1)]
    fixture.settle(change)
    fixture.settle(under_way)
    assert (fixture.partition.start_offset, fixture.partition.next_fetch_offset) == (1, 1)
    assert fixture.in_flight[-1] == "10-14 ACQUIRED x1 by 'b'"
    assert fixture.partition.release("a", fixture.limits).batches == []
