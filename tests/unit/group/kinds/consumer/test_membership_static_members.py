"""Members with instance ids: away for a while, replaced, fenced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from support.group_coordinators import SESSION_MS, topic_id

if TYPE_CHECKING:
    from support.group_coordinators import ConsumerGroupFixture

T = topic_id("t")


def test_a_static_member_comes_back_to_its_partitions(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", instance_id="i")
    fixture.enter("b", instance_id="j")
    fixture.settle("a", "b")
    before, epoch = fixture.members["a"], fixture.epochs["b"]
    assert fixture.beat("a", -2, instance_id="i").member_epoch == -2
    assert fixture.report("b").assigned is None, "nobody gets what it had"
    answer = fixture.enter("c", instance_id="i")
    assert fixture.members["c"] == before
    assert answer.member_epoch == epoch, "no rebalance"
    assert fixture.beat("a", epoch).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_instance_id_that_is_in_use(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", instance_id="i")
    refused = fixture.enter("b", instance_id="i")
    assert (refused.error, refused.message) == (
        ErrorCode.UNRELEASED_INSTANCE_ID,
        "Static member b with instance id i cannot join the group because the instance id is owned by a "
        "member.",
    )
    assert not fixture.beat("a", instance_id="i").error


def test_the_member_id_that_was_replaced_is_fenced(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", instance_id="i")
    fixture.beat("a", -2, instance_id="i")
    fixture.enter("b", instance_id="i")
    for epoch in (2, -1, -2):
        fenced = fixture.beat("a", epoch, instance_id="i")
        assert (fenced.error, fenced.message) == (
            ErrorCode.FENCED_INSTANCE_ID,
            "Static member a with instance id i was fenced by member b.",
        )


def test_an_instance_id_that_nobody_has(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", instance_id="i")
    for epoch in (2, -1, -2):
        unknown = fixture.beat("a", epoch, instance_id="x")
        assert (unknown.error, unknown.message) == (
            ErrorCode.UNKNOWN_MEMBER_ID,
            "Instance id x is unknown.",
        )


def test_who_stays_away_longer_than_its_session_is_out(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", instance_id="i")
    fixture.enter("b")
    fixture.settle("a", "b")
    fixture.report("b")
    fixture.beat("a", -2, instance_id="i")
    fixture.clock.advance(SESSION_MS - 1_000)
    fixture.report("b")
    fixture.clock.advance(1_000)
    fixture.settle("b")
    assert fixture.owned("b") == {"t": [0, 1, 2]}


def test_leaving_for_good(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", instance_id="i")
    assert not fixture.beat("a", -1, instance_id="i").error
    assert fixture.enter("b", instance_id="i").assigned == {T: (0, 1, 2)}


def test_coming_back_with_another_subscription(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", instance_id="i")
    fixture.beat("a", -2, instance_id="i")
    answer = fixture.enter("b", "u", instance_id="i")
    assert answer.member_epoch == 3
    assert fixture.owned("b") == {"u": [0, 1]}


def test_a_member_that_is_away_survives_a_restart(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", instance_id="i")
    fixture.beat("a", -2, instance_id="i")
    fixture.restart()
    assert fixture.enter("b", instance_id="i").assigned == {T: (0, 1, 2)}


def test_one_that_comes_back_may_commit_in_any_epoch(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", instance_id="i")
    fixture.beat("a", -2, instance_id="i")
    fixture.enter("b", instance_id="i")
    assert fixture.commit({("t", 0): 5}, "b", 1).value == {("t", 0): ErrorCode.NONE}
