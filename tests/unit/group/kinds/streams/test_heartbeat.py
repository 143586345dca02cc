"""Members of a streams group join, have tasks, give them up, and leave."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kcompat.cluster.config_entities import GROUPS
from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.streams.configured import StatusCode
from kcompat.group.kinds.streams.member import UserEndpoint
from kcompat.group.kinds.streams.members import StreamsState
from kcompat.group.kinds.streams.requests import StreamsHeartbeatAnswer
from kcompat.group.kinds.streams.settings import StreamsGroupConfig
from kcompat.group.kinds.streams.tasks import HeldTasks
from kcompat.protocol.errors import ErrorCode
from support.default_settings import with_defaults
from support.group_coordinators import GROUP, REBALANCE_MS
from support.streams_groups import IN_TWO_STEPS, STATEFUL, StreamsGroupFixture, active, codes

SESSION_MS = 45_000


# --- one member


def test_a_member_has_a_task_for_each_partition(fixture: StreamsGroupFixture) -> None:
    assert fixture.enter_streams("a") == StreamsHeartbeatAnswer(
        member_id="a",
        member_epoch=2,
        heartbeat_interval_ms=5_000,
        tasks=HeldTasks({"0": {0: 2, 1: 2, 2: 2}}),
    )
    assert fixture.described().state is StreamsState.STABLE


def test_a_heartbeat_without_news_writes_nothing_and_tells_nothing(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    appends = fixture.log.appends
    assert fixture.report_tasks("a") == StreamsHeartbeatAnswer(
        member_id="a", member_epoch=2, heartbeat_interval_ms=5_000
    )
    assert fixture.log.appends == appends


def test_what_a_member_is_may_change(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    answer = fixture.enter_streams("a", rack_id="r", client_tags={"k": "v"})
    assert (answer.member_epoch, active(answer)) == (3, {"0": [0, 1, 2]})
    (member,) = fixture.described().members
    assert (member.rack_id, member.client_tags, member.process_id) == ("r", {"k": "v"}, "process of a")
    assert fixture.enter_streams("a", rack_id="r").member_epoch == 3, "nothing has changed"


def test_a_member_that_says_nothing_is_out(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    fixture.clock.advance(SESSION_MS - 1)
    fixture.stream("a")
    fixture.clock.advance(SESSION_MS)
    assert fixture.stream("a").error == ErrorCode.UNKNOWN_MEMBER_ID
    assert fixture.described().state is StreamsState.EMPTY


def test_a_member_is_taken_out_as_soon_as_that_can_be_written(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    fixture.clock.advance(SESSION_MS)
    assert len(fixture.streamers().members)
    fixture.log.error = ErrorCode.NONE
    fixture.clock.advance(500)
    assert not len(fixture.streamers().members)


def test_a_member_whose_leaving_could_not_be_written_is_out_when_its_session_ends(
    fixture: StreamsGroupFixture,
) -> None:
    """A member that has left sends no further heartbeat, so only its session can end its membership."""
    fixture.enter_streams("a")
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert fixture.leave_streams("a").error
    fixture.log.error = ErrorCode.NONE
    assert len(fixture.streamers().members)
    fixture.clock.advance(SESSION_MS)
    assert not len(fixture.streamers().members)


def test_the_answer_to_the_last_heartbeat_may_have_been_lost(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    fixture.enter_streams("b")
    fixture.settle_streams("a", "b")
    (held, _) = fixture.has["a"]
    epoch = fixture.epochs["a"]
    fixture.report_tasks("a")
    previous = fixture.streamers().members.latest["a"].previous_member_epoch
    assert previous < epoch
    tasks = {name: frozenset(numbers) for name, numbers in held.items()}
    assert not fixture.stream("a", previous, active=tasks, standby={}, warmup={}).error
    strange = {"active": {"0": frozenset({0, 1, 2})}, "standby": {}, "warmup": {}}
    assert fixture.stream("a", previous, **strange).error == ErrorCode.FENCED_MEMBER_EPOCH
    assert fixture.stream("a", previous).error == ErrorCode.FENCED_MEMBER_EPOCH
    assert fixture.stream("a", epoch + 7).error == ErrorCode.FENCED_MEMBER_EPOCH


def test_who_is_not_known(fixture: StreamsGroupFixture) -> None:
    for epoch in (1, -1):
        assert fixture.stream("a", epoch).error == ErrorCode.GROUP_ID_NOT_FOUND
    fixture.enter_streams("a")
    for epoch in (1, -1):
        assert fixture.stream("stranger", epoch).error == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({"7": frozenset({0})}, "Subtopology 7 does not exist in the topology."),
        (
            {"0": frozenset({3})},
            "Task 3 for subtopology 0 is invalid. Number of tasks for this subtopology: 3",
        ),
        (
            {"0": frozenset({-1})},
            "Task -1 for subtopology 0 is invalid. Number of tasks for this subtopology: 3",
        ),
    ],
)
def test_tasks_that_there_are_not(
    fixture: StreamsGroupFixture, tasks: dict[str, frozenset[int]], message: str
) -> None:
    fixture.enter_streams("a")
    for role in ("active", "standby"):
        said: dict[str, Any] = {"active": {}, "standby": {}, "warmup": {}, role: tasks}
        answer = fixture.stream("a", **said)
        assert (answer.error, answer.message) == (ErrorCode.INVALID_REQUEST, message)


# --- several


def test_tasks_are_given_up_before_others_have_them(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    assert active(fixture.enter_streams("b")) == {}
    assert fixture.described().state is StreamsState.RECONCILING
    told = fixture.report_tasks("a")
    assert active(told) == {"0": [0, 1]}
    assert told.member_epoch == 2, "the epoch of what it still has"
    assert active(fixture.report_tasks("b")) is None
    assert active(fixture.report_tasks("a")) is None
    assert fixture.epochs["a"] == 3
    assert active(fixture.report_tasks("b")) == {"0": [2]}
    assert fixture.described().state is StreamsState.STABLE


def test_what_a_member_leaves_others_have_at_once(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    fixture.enter_streams("b")
    fixture.settle_streams("a", "b")
    assert fixture.leave_streams("a") == StreamsHeartbeatAnswer(member_id="a", member_epoch=-1)
    fixture.settle_streams("b")
    assert fixture.has["b"] == ({"0": [0, 1, 2]}, {})


def test_a_member_that_does_not_give_up_is_out(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a", rebalance_timeout_ms=10_000)
    fixture.enter_streams("b")
    beat = partial(fixture.stream, "a", active={"0": frozenset({0, 1, 2})}, standby={}, warmup={})
    beat()
    fixture.clock.advance(9_999)
    assert not beat().error
    fixture.clock.advance(1)
    assert beat().error == ErrorCode.UNKNOWN_MEMBER_ID
    fixture.settle_streams("b")
    assert fixture.has["b"] == ({"0": [0, 1, 2]}, {})


def test_who_is_giving_up_may_be_asked_for_more(fixture: StreamsGroupFixture) -> None:
    fixture.make("t", 4)
    fixture.enter_streams("a")
    fixture.enter_streams("b")
    fixture.report_tasks("a")
    for member_id in "cd":
        fixture.enter_streams(member_id)
    told = fixture.report_tasks("a")
    assert (told.member_epoch, active(told)) == (3, {"0": [0]}), "one step on, and less"
    fixture.settle_streams(*"abcd")
    had = [number for name in "abcd" for number in fixture.has[name][0].get("0", [])]
    assert sorted(had) == [0, 1, 2, 3]


def test_standby_tasks_are_in_other_processes() -> None:
    settings = with_defaults(
        StreamsGroupConfig, initial_delay_ms=0, assignment_interval_ms=0, standby_replicas=1
    )
    fixture = StreamsGroupFixture(with_defaults(GroupCoordinatorConfig, streams=settings))
    fixture.enter_streams("a", STATEFUL)
    fixture.settle_streams("a")
    assert fixture.has["a"] == ({"0": [0, 1, 2]}, {}), "there is no other process yet"
    fixture.enter_streams("b", STATEFUL)
    fixture.settle_streams("a", "b")
    for one, other in (("a", "b"), ("b", "a")):
        assert fixture.has[one][0] == fixture.has[other][1]
    fixture.leave_streams("a")
    fixture.settle_streams("b", rounds=6)
    assert fixture.has["b"] == ({"0": [0, 1, 2]}, {}), "what was a copy is active"


def test_a_group_may_ask_for_standby_tasks_later(fixture: StreamsGroupFixture) -> None:
    for member_id in "ab":
        fixture.enter_streams(member_id, STATEFUL)
    fixture.settle_streams("a", "b")
    assert [fixture.has[member_id][1] for member_id in "ab"] == [{}, {}]
    fixture.show(fixture.image.with_configs({(GROUPS, GROUP): {"streams.num.standby.replicas": "1"}}))
    fixture.settle_streams("a", "b")
    assert all(fixture.has[member_id][1] for member_id in "ab")


def test_a_full_group() -> None:
    settings = with_defaults(StreamsGroupConfig, max_size=1)
    fixture = StreamsGroupFixture(with_defaults(GroupCoordinatorConfig, streams=settings))
    fixture.enter_streams("a")
    assert fixture.enter_streams("b").error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert fixture.enter_streams("a").error == ErrorCode.GROUP_MAX_SIZE_REACHED, "as in Kafka"
    assert not fixture.stream("a").error


# --- waiting


def test_the_first_target_waits_for_more_members() -> None:
    fixture = StreamsGroupFixture(with_defaults(GroupCoordinatorConfig))
    joined = fixture.enter_streams("a")
    assert (joined.member_epoch, active(joined), codes(joined)) == (1, {}, [StatusCode.ASSIGNMENT_DELAYED])
    fixture.enter_streams("b")
    fixture.clock.advance(2_999)
    assert codes(fixture.report_tasks("a")) == [StatusCode.ASSIGNMENT_DELAYED]
    fixture.clock.advance(1)
    assert fixture.described().assignment_epoch == 3, "nobody had to ask"
    fixture.settle_streams("a", "b")
    assert sorted(fixture.has["a"][0]["0"] + fixture.has["b"][0]["0"]) == [0, 1, 2]


def test_nothing_is_assigned_to_who_has_left_meanwhile() -> None:
    fixture = StreamsGroupFixture(with_defaults(GroupCoordinatorConfig))
    fixture.enter_streams("a")
    fixture.leave_streams("a")
    fixture.clock.advance(3_000)
    assert fixture.described().assignment_epoch == 1
    fixture.enter_streams("a")
    fixture.coordinator.delete(GROUP)
    fixture.clock.advance(3_000)


def test_a_target_lasts_for_a_while() -> None:
    settings = with_defaults(StreamsGroupConfig, initial_delay_ms=0)
    fixture = StreamsGroupFixture(with_defaults(GroupCoordinatorConfig, streams=settings))
    fixture.enter_streams("a")
    joined = fixture.enter_streams("b")
    assert (active(joined), codes(joined)) == ({}, [StatusCode.ASSIGNMENT_DELAYED])
    fixture.clock.advance(1_000)
    fixture.settle_streams("a", "b")
    assert sorted(fixture.has["a"][0]["0"] + fixture.has["b"][0]["0"]) == [0, 1, 2]


def test_a_group_obeys_its_own_settings(fixture: StreamsGroupFixture) -> None:
    own = {
        "streams.heartbeat.interval.ms": "7000",
        "streams.session.timeout.ms": "60000",
        "streams.initial.rebalance.delay.ms": "100",
    }
    fixture.show(fixture.image.with_configs({(GROUPS, GROUP): own}))
    joined = fixture.enter_streams("a")
    assert (joined.heartbeat_interval_ms, codes(joined)) == (7_000, [StatusCode.ASSIGNMENT_DELAYED])
    fixture.clock.advance(SESSION_MS + 1)
    assert not fixture.stream("a").error
    own = {"streams.heartbeat.interval.ms": "99999", "streams.num.standby.replicas": "9"}
    fixture.show(fixture.image.with_configs({(GROUPS, GROUP): own}))
    assert fixture.stream("a").heartbeat_interval_ms == 15_000, "within bounds that are younger"
    assert fixture.streamers().basis.assignment_configs == {"num.standby.replicas": "2"}


# --- the log


def test_all_of_it_is_found_in_the_log(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams(
        "a", IN_TWO_STEPS, rack_id="r", endpoint=UserEndpoint("h", 1), client_tags={"k": "v"}
    )
    fixture.enter_streams("b", IN_TWO_STEPS)
    fixture.report_tasks("a")
    before = fixture.streamers()
    fixture.restart()
    after = fixture.streamers()
    assert after is not before
    assert dict(after.members.items()) == dict(before.members.items())
    assert dict(after.targets.items()) == dict(before.targets.items())
    assert (after.header, after.basis, after.topology) == (before.header, before.basis, before.topology)
    fixture.settle_streams("a", "b")
    assert fixture.described().state is StreamsState.STABLE
    fixture.clock.advance(REBALANCE_MS)
    assert fixture.stream("a").error == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_was_giving_up_has_its_time_again_after_a_restart(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a", rebalance_timeout_ms=10_000)
    fixture.enter_streams("b")
    beat = partial(fixture.stream, "a", active={"0": frozenset({0, 1, 2})}, standby={}, warmup={})
    beat()
    fixture.restart()
    fixture.clock.advance(9_999)
    assert not beat().error
    fixture.clock.advance(1)
    assert beat().error == ErrorCode.UNKNOWN_MEMBER_ID
