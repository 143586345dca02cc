"""Members of a consumer group join, share partitions, change their minds and leave."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.consumer.heartbeat import LEAST_INTERVAL_MS, NEW_TARGET_MS
from kcompat.group.kinds.consumer.members import ConsumerState
from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig
from kcompat.group.kinds.table import CONSUMER_KIND
from kcompat.group.modern.heartbeat import HeartbeatAnswer
from kcompat.protocol.errors import ErrorCode
from support.default_settings import with_defaults
from support.group_coordinators import GROUP, REBALANCE_MS, SESSION_MS, ConsumerGroupFixture, topic_id

T = topic_id("t")


def test_the_first_member_gets_everything_at_once(fixture: ConsumerGroupFixture) -> None:
    answer = fixture.enter("a")
    assert answer == HeartbeatAnswer(
        member_id="a", member_epoch=2, heartbeat_interval_ms=LEAST_INTERVAL_MS, assigned={T: (0, 1, 2)}
    )
    assert fixture.consumers().state is ConsumerState.STABLE


def test_a_heartbeat_without_news_writes_nothing_and_tells_nothing(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.clock.advance(NEW_TARGET_MS)
    appends = fixture.log.appends
    assert fixture.beat("a") == HeartbeatAnswer(member_id="a", member_epoch=2, heartbeat_interval_ms=5_000)
    assert fixture.log.appends == appends


def test_a_heartbeat_with_everything_is_told_everything(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    full = {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topics": frozenset("t")}
    assert fixture.report("a", **full).assigned == {T: (0, 1, 2)}


def test_a_second_member_waits_until_the_first_has_given_up(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    assert fixture.enter("b").assigned == {}
    assert fixture.consumers().state is ConsumerState.RECONCILING
    assert fixture.beat("b").member_epoch == 3
    told = fixture.report("a")
    assert (told.member_epoch, told.assigned) == (2, {T: (0, 1)})
    assert fixture.beat("b").assigned is None
    assert fixture.report("a").member_epoch == 3
    assert fixture.beat("b").assigned == {T: (2,)}
    assert fixture.consumers().state is ConsumerState.STABLE


def test_a_subscription_that_changes(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    told = fixture.report("a", subscribed_topics=frozenset("tu"))
    assert told.member_epoch == 3
    assert fixture.owned("a") == {"t": [0, 1, 2], "u": [0, 1]}
    told = fixture.report("a", subscribed_topics=frozenset("u"))
    assert (told.member_epoch, fixture.owned("a")) == (3, {"u": [0, 1]})
    assert fixture.report("a").member_epoch == 4


def test_members_with_different_subscriptions(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", "tu")
    fixture.enter("b", "u")
    fixture.settle("a", "b")
    assert fixture.owned("a") == {"t": [0, 1, 2]}
    assert fixture.owned("b") == {"u": [0, 1]}


def test_the_assignor_that_most_members_want(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", "tu", server_assignor="range")
    fixture.enter("b", "tu")
    fixture.settle("a", "b")
    assert fixture.owned("a") == {"t": [0, 1], "u": [0]}
    assert fixture.coordinator.describe_modern(CONSUMER_KIND, GROUP).assignor == "range"


def test_leaving_frees_what_the_member_had(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.enter("b")
    fixture.settle("a", "b")
    answer = fixture.beat("a", -1)
    assert (answer.error, answer.member_id, answer.member_epoch) == (ErrorCode.NONE, "a", -1)
    fixture.settle("b")
    assert fixture.owned("b") == {"t": [0, 1, 2]}


def test_a_group_without_members_is_empty(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.beat("a", -1)
    assert fixture.consumers().state is ConsumerState.EMPTY
    assert fixture.enter("b").assigned == {T: (0, 1, 2)}


def test_a_silent_member_is_out_after_its_session(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.clock.advance(SESSION_MS - 1)
    assert not fixture.beat("a").error
    fixture.clock.advance(SESSION_MS)
    assert fixture.beat("a").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_whose_leaving_could_not_be_written_is_out_when_its_session_ends(
    fixture: ConsumerGroupFixture,
) -> None:
    """A member that has left sends no further heartbeat, so only its session can end its membership."""
    fixture.enter("a")
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert fixture.beat("a", -1).error
    fixture.log.error = ErrorCode.NONE
    assert len(fixture.consumers().members)
    fixture.clock.advance(SESSION_MS)
    assert not len(fixture.consumers().members)


def test_a_member_that_does_not_give_up_in_time_is_out(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", rebalance_timeout_ms=10_000)
    fixture.enter("b")
    fixture.report("a")
    fixture.clock.advance(9_999)
    fixture.beat("a")
    fixture.beat("b")
    fixture.clock.advance(1)
    assert fixture.beat("a").error is ErrorCode.UNKNOWN_MEMBER_ID
    fixture.settle("b")
    assert fixture.owned("b") == {"t": [0, 1, 2]}


def test_giving_up_in_time_stops_the_clock(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", rebalance_timeout_ms=10_000)
    fixture.enter("b")
    fixture.report("a")
    fixture.report("a")
    fixture.clock.advance(10_000)
    assert not fixture.beat("a").error


@pytest.mark.parametrize(("epoch", "size"), [(7, "greater"), (1, "smaller")])
def test_an_epoch_that_the_member_does_not_have_fences_it(
    fixture: ConsumerGroupFixture, epoch: int, size: str
) -> None:
    fixture.enter("a")
    answer = fixture.beat("a", epoch)
    assert answer.error is ErrorCode.FENCED_MEMBER_EPOCH
    assert answer.message == (
        f"The consumer group member has a {size} member epoch ({epoch}) than the one known by the group "
        "coordinator (2). The member must abandon all its partitions and rejoin."
    )


def test_the_epoch_before_is_taken_when_the_answer_got_lost(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.report("a", subscribed_topics=frozenset("tu"))
    assert fixture.beat("a", 2, owned={T: frozenset({0, 1, 2})}).member_epoch == 3
    assert fixture.beat("a", 2).error is ErrorCode.FENCED_MEMBER_EPOCH
    stranger = {topic_id("x"): frozenset({0})}
    assert fixture.beat("a", 2, owned=stranger).error is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_fenced_member_comes_back_with_epoch_0(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    assert fixture.beat("a", 9).error
    assert fixture.enter("a").assigned == {T: (0, 1, 2)}


def test_who_is_not_a_member(fixture: ConsumerGroupFixture) -> None:
    missing = fixture.beat("a", 3)
    assert (missing.error, missing.message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Consumer group group not found.",
    )
    assert fixture.beat("a", -1).message == "Group group not found."
    fixture.enter("a")
    for epoch in (3, -1):
        stranger = fixture.beat("b", epoch)
        assert (stranger.error, stranger.message) == (
            ErrorCode.UNKNOWN_MEMBER_ID,
            "Member b is not a member of group group.",
        )


def test_version_0_is_given_a_member_id(fixture: ConsumerGroupFixture) -> None:
    answer = fixture.enter("", needs_member_id=False)
    assert (answer.member_id, answer.member_epoch) == ("1", 2)
    assert not fixture.beat("1").error


def test_a_full_group_takes_nobody_more() -> None:
    fixture = ConsumerGroupFixture(
        with_defaults(GroupCoordinatorConfig, consumer=with_defaults(ConsumerGroupConfig, max_size=1))
    )
    fixture.enter("a")
    refused = fixture.enter("b")
    assert refused.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert refused.message == "The consumer group has reached its maximum capacity of 1 members."
    assert not fixture.beat("a").error


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"needs_member_id": True}, ErrorCode.INVALID_REQUEST, "MemberId can't be empty."),
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST, "GroupId can't be empty."),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST, "InstanceId can't be empty."),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST, "RackId can't be empty."),
        (
            {"rebalance_timeout_ms": -1},
            ErrorCode.INVALID_REQUEST,
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        ({"owned": None}, ErrorCode.INVALID_REQUEST, "TopicPartitions must be empty when (re-)joining."),
        (
            {"owned": {T: frozenset({1})}},
            ErrorCode.INVALID_REQUEST,
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            {"subscribed_topics": None},
            ErrorCode.INVALID_REQUEST,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST, "InstanceId can't be null."),
        ({"member_epoch": -3}, ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid."),
        (
            {"server_assignor": "sticky"},
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            "ServerAssignor sticky is not supported. Supported assignors: uniform, range.",
        ),
    ],
)
def test_requests_that_are_refused_whatever_the_group(
    fixture: ConsumerGroupFixture, fields: dict[str, Any], error: ErrorCode, message: str
) -> None:
    answer = fixture.enter("" if "needs_member_id" in fields else "a", **fields)
    assert (answer.error, answer.message) == (error, message)
    assert not fixture.log.appends


def test_an_append_that_fails_leaves_all_as_it_was(fixture: ConsumerGroupFixture) -> None:
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert fixture.enter("a").error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    fixture.log.error = ErrorCode.NONE
    assert fixture.enter("a").member_epoch == 2
