"""Topologies that members bring, the topics that they need, and what concerns the whole application."""

from __future__ import annotations

from kcompat.group.kinds.streams.configured import Status, StatusCode
from kcompat.group.kinds.streams.member import Endpoint
from kcompat.group.kinds.streams.roster import StreamsState
from kcompat.protocol.errors import ErrorCode
from support.streams_group_world import (
    IN_TWO_STEPS,
    STATEFUL,
    StreamsGroupWorld,
    active,
    codes,
    reads,
    topology,
)

# --- topics


def test_internal_topics_are_made(world: StreamsGroupWorld) -> None:
    joined = world.enter_streams("a", IN_TWO_STEPS)
    assert joined.statuses == (
        Status(StatusCode.MISSING_INTERNAL_TOPICS, "Internal topics are missing: between, log"),
    )
    assert [(spec.name, spec.num_partitions) for spec in world.maker.asked] == [("between", 3), ("log", 3)]
    told = world.report_tasks("a")
    assert (active(told), codes(told)) == ({"0": [0, 1, 2], "1": [0, 1, 2]}, [])


def test_source_topics_are_awaited(world: StreamsGroupWorld) -> None:
    joined = world.enter_streams("a", topology(reads("t", "later", "never")))
    assert joined.statuses == (
        Status(StatusCode.MISSING_SOURCE_TOPICS, "Source topics later, never are missing."),
    )
    assert world.described().state is StreamsState.NOT_READY
    world.make("later", 1)
    assert codes(world.report_tasks("a")) == [StatusCode.MISSING_SOURCE_TOPICS]
    world.make("never", 5)
    told = world.report_tasks("a")
    assert (active(told), codes(told)) == ({"0": [0, 1, 2, 3, 4]}, [])


def test_a_source_topic_that_is_deleted(world: StreamsGroupWorld) -> None:
    world.enter_streams("a")
    world.delete("t")
    told = world.report_tasks("a")
    assert (codes(told), active(told)) == ([StatusCode.MISSING_SOURCE_TOPICS], {})
    assert world.described().state is StreamsState.NOT_READY


def test_a_layout_that_could_not_be_written_is_not_kept(world: StreamsGroupWorld) -> None:
    """The topics are again as the log says they were, and so they are looked at again."""
    world.delete("t")
    world.enter_streams("a")
    world.make("t", 3)
    world.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.report_tasks("a").error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.error = ErrorCode.NONE
    world.delete("t")
    told = world.report_tasks("a")
    assert (codes(told), active(told)) == ([StatusCode.MISSING_SOURCE_TOPICS], None)
    assert world.described().state is StreamsState.NOT_READY


def test_a_source_topic_that_grows_away_from_its_changelog(world: StreamsGroupWorld) -> None:
    world.enter_streams("a", STATEFUL)
    world.settle_streams("a")
    world.make("t", 4)
    told = world.report_tasks("a")
    assert told.statuses == (
        Status(
            StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
            "Existing topic log has different number of partitions: expected 4, found 3",
        ),
    )


# --- topologies


def test_a_topology_that_no_topics_would_do_for(world: StreamsGroupWorld) -> None:
    answer = world.enter_streams("a", topology(reads(name="0")))
    assert (answer.error, answer.message) == (
        ErrorCode.STREAMS_INVALID_TOPOLOGY,
        "No source topics found for subtopology 0",
    )
    assert world.described().error == ErrorCode.GROUP_ID_NOT_FOUND


def test_topologies_of_other_epochs(world: StreamsGroupWorld) -> None:
    world.enter_streams("a", topology(reads("t"), epoch=3))
    for other in (topology(reads("u"), epoch=3), topology(reads("t"), epoch=4)):
        answer = world.enter_streams("b", other)
        assert (answer.error, answer.message) == (
            ErrorCode.INVALID_REQUEST,
            "Topology updates are not supported yet.",
        )
    behind = world.enter_streams("b", topology(reads("u"), epoch=2))
    assert behind.statuses == (
        Status(
            StatusCode.STALE_TOPOLOGY,
            "The member's topology epoch 2 is behind the group's topology epoch 3.",
        ),
    )
    assert world.described().topology is not None
    assert {member.topology_epoch for member in world.described().members} == {2, 3}


# --- the application


def test_a_member_may_have_the_application_end(world: StreamsGroupWorld) -> None:
    for member_id in "ab":
        world.enter_streams(member_id)
    world.leave_streams("a", wants_shutdown=True)
    told = world.report_tasks("b", wants_shutdown=True)
    assert told.statuses == (
        Status(
            StatusCode.SHUTDOWN_APPLICATION,
            "Streams group member a encountered a fatal error and requested a shutdown for the entire "
            "application.",
        ),
    )
    world.leave_streams("b")
    assert codes(world.enter_streams("b")) == []


def test_endpoints_are_told_until_they_are_known(world: StreamsGroupWorld) -> None:
    here, there = Endpoint("here", 1), Endpoint("there", 2)
    joined = world.enter_streams("a", endpoint=here)
    assert joined.endpoint_epoch == 0, "that of the group as it is when it is stored"
    assert joined.endpoints == ((here, {"t": (0, 1, 2)}, {}),)
    world.enter_streams("b", endpoint=there)
    world.settle_streams("a", "b")
    told = world.report_tasks("a", endpoint_epoch=-1)
    assert told.endpoints is not None
    assert {row.endpoint: row.active for row in told.endpoints} == {
        here: {"t": (0, 1)},
        there: {"t": (2,)},
    }
    assert world.report_tasks("b", endpoint_epoch=told.endpoint_epoch).endpoints is None


def test_endpoints_without_tasks(world: StreamsGroupWorld) -> None:
    here = Endpoint("here", 1)
    joined = world.enter_streams("a", topology(reads("absent")), endpoint=here)
    assert joined.endpoints == ((here, {}, {}),)
