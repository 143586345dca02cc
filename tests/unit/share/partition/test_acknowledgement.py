"""What members may say of which records, and what comes of it."""

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
from kcompat.share.partition.in_flight import Change
from kcompat.share.persisting import Outcome, StateWrite
from support.current import current
from support.share_partition_world import ACCEPT, GAP, LOCK_MS, REJECT, RELEASE, RENEW, SharePartitionWorld

ACKNOWLEDGED, ARCHIVED, AVAILABLE = 2, 4, 0


@pytest.fixture
def world() -> SharePartitionWorld:
    """Member a has 0 to 4 and 5 to 9."""
    world = SharePartitionWorld()
    world.fetch((0, 4))
    world.fetch((5, 9))
    return world


def begun(world: SharePartitionWorld, first: int, last: int, *types: int) -> Change:
    change = world.begin(first, last, *types)
    assert isinstance(change, Change)
    return change


@pytest.mark.parametrize(
    ("kind", "state"),
    [(GAP, ARCHIVED), (ACCEPT, ACKNOWLEDGED), (RELEASE, AVAILABLE), (REJECT, ARCHIVED)],
)
def test_each_type_leads_to_its_state(world: SharePartitionWorld, kind: int, state: int) -> None:
    change = begun(world, 2, 6, kind)
    assert change.batches == [StateBatch(2, 6, state, 1)]
    world.settle(change)
    stored = [(each.first, each.last, each.state) for each in world.partition.spans() if not each.member_id]
    assert stored == [(2, 4, state), (5, 6, state)]
    assert world.partition.next_fetch_offset == (2 if kind is RELEASE else 10)


def test_what_is_said_of_each_record_is_stored_in_ranges(world: SharePartitionWorld) -> None:
    change = begun(world, 0, 6, ACCEPT, ACCEPT, REJECT, GAP, RELEASE, ACCEPT, ACCEPT)
    assert change.batches == [
        StateBatch(0, 1, ACKNOWLEDGED, 1),
        StateBatch(2, 3, ARCHIVED, 1),
        StateBatch(4, 4, AVAILABLE, 1),
        StateBatch(5, 6, ACKNOWLEDGED, 1),
    ]
    assert list(Acknowledgement(0, 3, [1, 1, 2, 1]).runs()) == [(0, 1, 1), (2, 2, 2), (3, 3, 1)]


def test_nothing_counts_before_it_is_stored(world: SharePartitionWorld) -> None:
    accepted, released = begun(world, 0, 3, ACCEPT), begun(world, 5, 9, RELEASE)
    assert world.partition.write(accepted.batches) == StateWrite(
        state_epoch=7,
        leader_epoch=3,
        start_offset=0,
        delivery_complete_count=4,
        batches=(StateBatch(0, 3, ACKNOWLEDGED, 1),),
    )
    assert (world.partition.start_offset, world.partition.next_fetch_offset) == (0, 10)
    world.settle(released)
    assert (world.partition.start_offset, world.partition.next_fetch_offset) == (0, 5)
    world.settle(accepted)
    assert (world.partition.start_offset, world.partition.next_fetch_offset) == (4, 5)
    assert world.partition.write(()).delivery_complete_count == 0


def test_what_could_not_be_stored_is_the_members_still(world: SharePartitionWorld) -> None:
    before = world.in_flight
    for kind in (ACCEPT, RELEASE, REJECT):
        world.settle(begun(world, 1, 6, kind), is_stored=False)
        assert world.in_flight == before
    world.say(0, 9, ACCEPT)
    assert world.partition.start_offset == 10


def test_what_could_not_be_stored_until_the_lock_ended_is_free(world: SharePartitionWorld) -> None:
    change = begun(world, 0, 9, ACCEPT)
    world.now_ms = LOCK_MS
    assert world.partition.expire(world.limits, world.now_ms) == []
    world.settle(change, is_stored=False)
    assert world.in_flight == ["0-4 AVAILABLE x1", "5-9 AVAILABLE x1"]
    assert world.partition.next_fetch_offset == 0


def test_a_lock_that_outlives_a_failed_write_ends(world: SharePartitionWorld) -> None:
    change = begun(world, 0, 9, ACCEPT)
    world.partition.lock_ends_ms = None
    world.settle(change, is_stored=False)
    assert world.partition.lock_ends_ms == LOCK_MS


def test_the_last_delivery_is_not_followed_by_another() -> None:
    world = SharePartitionWorld(delivery_count_limit=2)
    for _ in range(2):
        world.fetch((0, 1))
        change = begun(world, 0, 1, RELEASE)
        world.settle(change)
    assert change.batches == [StateBatch(0, 1, ARCHIVED, 2)]
    assert world.partition.start_offset == 2


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
    world: SharePartitionWorld, first: int, last: int, member: str, refusal: Outcome
) -> None:
    before = world.in_flight
    assert world.begin(first, last, ACCEPT, member=member) == refusal
    assert world.in_flight == before


def test_what_is_said_twice_is_refused_as_a_whole(world: SharePartitionWorld) -> None:
    change = begun(world, 3, 3, ACCEPT)
    before = world.in_flight
    assert world.begin(0, 9, ACCEPT) == UNDER_WAY
    assert world.in_flight == before
    world.settle(change)
    assert world.begin(0, 9, ACCEPT) == NOT_ACQUIRED
    said = [Acknowledgement(0, 2, [ACCEPT]), Acknowledgement(2, 2, [ACCEPT])]
    assert world.partition.acknowledge("a", said, world.limits, 0) == UNDER_WAY
    world.say(0, 2, ACCEPT)
    assert world.partition.start_offset == 4


def test_what_the_start_has_passed_needs_no_word(world: SharePartitionWorld) -> None:
    world.say(0, 4, ACCEPT)
    world.say(0, 3, REJECT, member="b")
    world.say(2, 6, ACCEPT)
    assert world.partition.start_offset == 7
    world.say(7, 9, ACCEPT)
    assert world.begin(5, 12, ACCEPT) == NOT_IN_FLIGHT


@pytest.mark.parametrize("types", [(5,), (-1,), (ACCEPT, 9)])
def test_other_types_are_not_known(world: SharePartitionWorld, types: tuple[int, ...]) -> None:
    refusal = world.begin(0, 1, *types)
    assert isinstance(refusal, Outcome)
    assert refusal.error == ErrorCode.INVALID_REQUEST


def test_a_renewed_lock_begins_anew(world: SharePartitionWorld) -> None:
    world.now_ms = LOCK_MS // 2
    assert begun(world, 3, 6, RENEW).batches == []
    world.now_ms = LOCK_MS
    stored = world.partition.expire(world.limits, world.now_ms)
    assert stored == [StateBatch(0, 2, AVAILABLE, 1), StateBatch(7, 9, AVAILABLE, 1)]
    assert current(world.partition.lock_ends_ms) == LOCK_MS + LOCK_MS // 2
    world.now_ms = LOCK_MS + LOCK_MS // 2
    world.partition.expire(world.limits, world.now_ms)
    assert world.partition.lock_ends_ms is None
    assert world.in_flight == ["0-4 AVAILABLE x1", "5-9 AVAILABLE x1"]


def test_renewals_can_be_forbidden() -> None:
    world = SharePartitionWorld(renew_acknowledge=False)
    world.fetch((0, 4))
    assert world.begin(0, 4, RENEW) == NO_RENEWALS
    assert world.begin(0, 1, ACCEPT, RENEW) == NO_RENEWALS
    assert world.in_flight == ["0-4 ACQUIRED x1 by 'a'"]


def test_a_shorter_lock_ends_earlier(world: SharePartitionWorld) -> None:
    world.limits = world.limits._replace(record_lock_duration_ms=100)
    begun(world, 3, 3, RENEW)
    assert world.partition.lock_ends_ms == 100


def test_a_member_that_leaves_gives_back_all_it_has(world: SharePartitionWorld) -> None:
    world.fetch((10, 14), member="b")
    world.say(5, 5, ACCEPT)
    under_way = begun(world, 0, 0, ACCEPT)
    change = world.partition.release("a", world.limits)
    assert change.batches == [StateBatch(1, 4, AVAILABLE, 1), StateBatch(6, 9, AVAILABLE, 1)]
    world.settle(change)
    world.settle(under_way)
    assert (world.partition.start_offset, world.partition.next_fetch_offset) == (1, 1)
    assert world.in_flight[-1] == "10-14 ACQUIRED x1 by 'b'"
    assert world.partition.release("a", world.limits).batches == []
