"""The steps of one member towards its target: each state, and what may follow it."""

from __future__ import annotations

import pytest

from kcompat.group.kinds.consumer.member import ConsumerMember, ConsumerMemberState
from kcompat.group.kinds.consumer.reconciliation import ConsumerStep, reconcile
from kcompat.group.modern.heartbeat import Refusal
from kcompat.protocol.errors import ErrorCode

T, U = b"t" * 16, b"u" * 16
STABLE, UNREVOKED, UNRELEASED = (
    ConsumerMemberState.STABLE,
    ConsumerMemberState.UNREVOKED_PARTITIONS,
    ConsumerMemberState.UNRELEASED_PARTITIONS,
)


def member(
    state: ConsumerMemberState = STABLE,
    epoch: int = 5,
    assigned: dict[int, int] | None = None,
    revoking: dict[int, int] | None = None,
) -> ConsumerMember:
    return ConsumerMember(
        "m",
        member_epoch=epoch,
        previous_member_epoch=epoch - 1,
        state=state,
        assigned={T: assigned} if assigned else {},
        revoking={T: revoking} if revoking else {},
    )


def around(
    target: set[int],
    *,
    held: set[int] = frozenset(),  # type: ignore[assignment]
    reported: set[int] | None = None,
    epoch: int = 6,
    subscribed: frozenset[bytes] = frozenset({T}),
    changed: bool = False,
) -> ConsumerStep:
    return ConsumerStep(
        epoch,
        {T: frozenset(target)} if target else {},
        subscribed,
        lambda _topic, partition: partition in held,
        None if reported is None else {T: frozenset(reported)},
        changed,
    )


def outcome(before: ConsumerMember, surroundings: ConsumerStep) -> tuple[object, ...]:
    after = reconcile(before, surroundings)
    assert isinstance(after, ConsumerMember)
    if after is not before:
        assert after.previous_member_epoch == before.member_epoch
    return after.state, after.member_epoch, dict(after.assigned.get(T, {})), dict(after.revoking.get(T, {}))


def test_stable_in_the_epoch_of_the_target_stays_as_it_is() -> None:
    before = member(epoch=6, assigned={1: 2})
    assert reconcile(before, around({1, 2})) is before


def test_stable_to_stable_takes_what_is_free() -> None:
    before = member(assigned={1: 2})
    assert outcome(before, around({1, 2})) == (STABLE, 6, {1: 2, 2: 6}, {})


def test_stable_to_stable_without_any_change_but_the_epoch() -> None:
    assert outcome(member(assigned={1: 2}), around({1})) == (STABLE, 6, {1: 2}, {})


def test_stable_to_unrevoked_when_it_owns_what_it_must_give_up() -> None:
    before = member(assigned={1: 2, 2: 3})
    assert outcome(before, around({2, 3}, reported={1, 2})) == (UNREVOKED, 5, {2: 3}, {1: 2})


def test_stable_to_unrevoked_when_it_does_not_say_what_it_owns() -> None:
    assert outcome(member(assigned={1: 2}), around(set())) == (UNREVOKED, 5, {}, {1: 2})


def test_stable_to_stable_when_it_has_given_up_already() -> None:
    before = member(assigned={1: 2, 2: 3})
    assert outcome(before, around({2}, reported={2})) == (STABLE, 6, {2: 3}, {})


def test_stable_to_unreleased_when_others_have_what_it_is_to_have() -> None:
    assert outcome(member(assigned={1: 2}), around({1, 2, 3}, held={2})) == (UNRELEASED, 6, {1: 2, 3: 6}, {})


def test_stable_to_unreleased_with_nothing_to_take_yet() -> None:
    assert outcome(member(assigned={1: 2}), around({1, 2}, held={2})) == (UNRELEASED, 6, {1: 2}, {})


@pytest.mark.parametrize("reported", [None, {1, 2}])
def test_unrevoked_stays_until_it_has_given_up(reported: set[int] | None) -> None:
    before = member(UNREVOKED, assigned={2: 3}, revoking={1: 2})
    assert reconcile(before, around({2, 3}, reported=reported)) is before


def test_unrevoked_to_stable_once_it_has_given_up() -> None:
    before = member(UNREVOKED, assigned={2: 3}, revoking={1: 2})
    assert outcome(before, around({2, 3}, held={1, 2}, reported={2})) == (STABLE, 6, {2: 3, 3: 6}, {})


def test_unrevoked_takes_back_what_it_gave_up_if_the_target_says_so_again() -> None:
    before = member(UNREVOKED, assigned={2: 3}, revoking={1: 2})
    assert outcome(before, around({1, 2}, held={1, 2}, reported={2})) == (STABLE, 6, {2: 3, 1: 6}, {})


def test_unrevoked_to_unrevoked_when_the_target_has_changed_meanwhile() -> None:
    before = member(UNREVOKED, assigned={2: 3}, revoking={1: 2})
    assert outcome(before, around({3}, held={1, 2}, reported={2})) == (UNREVOKED, 5, {}, {2: 3})


def test_unrevoked_to_unreleased() -> None:
    before = member(UNREVOKED, assigned={2: 3}, revoking={1: 2})
    assert outcome(before, around({2, 4}, held={1, 2, 4}, reported={2})) == (UNRELEASED, 6, {2: 3}, {})


def test_unreleased_stays_while_others_hold() -> None:
    before = member(UNRELEASED, 6, assigned={1: 2})
    assert outcome(before, around({1, 2}, held={2})) == (UNRELEASED, 6, {1: 2}, {})


def test_unreleased_to_stable_once_others_have_given_up() -> None:
    assert outcome(member(UNRELEASED, 6, {1: 2}), around({1, 2})) == (STABLE, 6, {1: 2, 2: 6}, {})


def test_unreleased_to_unrevoked_in_a_newer_target() -> None:
    before = member(UNRELEASED, 6, assigned={1: 2})
    assert outcome(before, around({2}, epoch=7, reported={1})) == (UNREVOKED, 6, {}, {1: 2})


def test_a_topic_that_it_left_is_given_up_at_once_whatever_the_target_says() -> None:
    before = member(epoch=6, assigned={1: 2})
    left = around({1}, subscribed=frozenset({U}), reported={1}, changed=True)
    assert outcome(before, left) == (UNREVOKED, 6, {}, {1: 2})


def test_a_topic_that_it_left_and_gave_up_is_just_gone() -> None:
    before = member(epoch=6, assigned={1: 2})
    left = around({1}, subscribed=frozenset({U}), reported=set(), changed=True)
    assert outcome(before, left) == (STABLE, 6, {}, {})


def test_unrevoked_gives_up_more_when_it_leaves_another_topic() -> None:
    before = member(UNREVOKED, assigned={2: 3}, revoking={1: 2})
    left = around({2}, subscribed=frozenset(), reported={1, 2}, changed=True)
    assert outcome(before, left) == (UNREVOKED, 5, {}, {1: 2, 2: 3})


def test_a_subscription_that_grew_changes_nothing_before_the_target_does() -> None:
    before = member(epoch=6, assigned={1: 2})
    assert reconcile(before, around({1}, subscribed=frozenset({T, U}), changed=True)) is before


@pytest.mark.parametrize("reported", [None, {1}])
def test_a_state_of_a_newer_broker_fences_the_member(reported: set[int] | None) -> None:
    refusal = reconcile(member(ConsumerMemberState(9), assigned={1: 2}), around({1}, reported=reported))
    assert isinstance(refusal, Refusal)
    assert refusal.error is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_state_of_a_newer_broker_is_left_when_the_member_owns_nothing() -> None:
    before = member(ConsumerMemberState(9), assigned={1: 2})
    assert outcome(before, ConsumerStep(6, {T: frozenset({1})}, frozenset({T}), lambda *_: False, {})) == (
        STABLE,
        6,
        {1: 2},
        {},
    )
