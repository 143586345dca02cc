"""Topologies that members bring, the topics that they need, and what concerns the whole application."""

from __future__ import annotations

from kcompat.group.kinds.streams.configured import Status, StatusCode
from kcompat.group.kinds.streams.member import UserEndpoint
from kcompat.group.kinds.streams.members import StreamsState
from kcompat.protocol.errors import ErrorCode
from support.streams_groups import IN_TWO_STEPS, STATEFUL, StreamsGroupFixture, active, codes, reads, topology

# --- topics


def test_internal_topics_are_made(fixture: StreamsGroupFixture) -> None:
    joined = fixture.enter_streams("a", IN_TWO_STEPS)
    assert joined.statuses == (
        Status(StatusCode.MISSING_INTERNAL_TOPICS, "Internal topics are missing: between, log"),
    )
    assert [(spec.name, spec.num_partitions) for spec in fixture.maker.asked] == [("between", 3), ("log", 3)]
    told = fixture.report_tasks("a")
    assert (active(told), codes(told)) == ({"0": [0, 1, 2], "1": [0, 1, 2]}, [])


def test_source_topics_are_awaited(fixture: StreamsGroupFixture) -> None:
    joined = fixture.enter_streams("a", topology(reads("t", "later", "never")))
    assert joined.statuses == (
        Status(StatusCode.MISSING_SOURCE_TOPICS, "Source topics later, never are missing."),
    )
    assert fixture.described().state is StreamsState.NOT_READY
    fixture.make("later", 1)
    assert codes(fixture.report_tasks("a")) == [StatusCode.MISSING_SOURCE_TOPICS]
    fixture.make("never", 5)
    told = fixture.report_tasks("a")
    assert (active(told), codes(told)) == ({"0": [0, 1, 2, 3, 4]}, [])


def test_a_source_topic_that_is_deleted(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    fixture.delete("t")
    told = fixture.report_tasks("a")
    assert (codes(told), active(told)) == ([StatusCode.MISSING_SOURCE_TOPICS], {})
    assert fixture.described().state is StreamsState.NOT_READY


def test_a_layout_that_could_not_be_written_is_not_kept(fixture: StreamsGroupFixture) -> None:
    """The topics are again as the log says they were, and so they are looked at again."""
    fixture.delete("t")
    fixture.enter_streams("a")
    fixture.make("t", 3)
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert fixture.report_tasks("a").error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    fixture.log.error = ErrorCode.NONE
    fixture.delete("t")
    told = fixture.report_tasks("a")
    assert (codes(told), active(told)) == ([StatusCode.MISSING_SOURCE_TOPICS], None)
    assert fixture.described().state is StreamsState.NOT_READY


def test_a_source_topic_that_grows_away_from_its_changelog(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a", STATEFUL)
    fixture.settle_streams("a")
    fixture.make("t", 4)
    told = fixture.report_tasks("a")
    assert told.statuses == (
        Status(
            StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
            "Existing topic log has different number of partitions: expected 4, found 3",
        ),
    )


# --- topologies


def test_a_topology_that_no_topics_would_do_for(fixture: StreamsGroupFixture) -> None:
    answer = fixture.enter_streams("a", topology(reads(name="0")))
    assert (answer.error, answer.message) == (
        ErrorCode.STREAMS_INVALID_TOPOLOGY,
        "No source topics found for subtopology 0",
    )
    assert fixture.described().error == ErrorCode.GROUP_ID_NOT_FOUND


def test_topologies_of_other_epochs(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a", topology(reads("t"), epoch=3))
    for other in (topology(reads("u"), epoch=3), topology(reads("t"), epoch=4)):
        answer = fixture.enter_streams("b", other)
        assert (answer.error, answer.message) == (
            ErrorCode.INVALID_REQUEST,
            "Topology updates are not supported yet.",
        )
    behind = fixture.enter_streams("b", topology(reads("u"), epoch=2))
    assert behind.statuses == (
        Status(
            StatusCode.STALE_TOPOLOGY,
            "The member's topology epoch 2 is behind the group's topology epoch 3.",
        ),
    )
    assert fixture.described().topology is not None
    assert {member.topology_epoch for member in fixture.described().members} == {2, 3}


# --- the application


def test_a_member_may_have_the_application_end(fixture: StreamsGroupFixture) -> None:
    for member_id in "ab":
        fixture.enter_streams(member_id)
    fixture.leave_streams("a", wants_shutdown=True)
    told = fixture.report_tasks("b", wants_shutdown=True)
    assert told.statuses == (
        Status(
            StatusCode.SHUTDOWN_APPLICATION,
            "Streams group member a encountered a fatal error and requested a shutdown for the entire "
            "application.",
        ),
    )
    fixture.leave_streams("b")
    assert codes(fixture.enter_streams("b")) == []


def test_endpoints_are_told_until_they_are_known(fixture: StreamsGroupFixture) -> None:
    here, there = UserEndpoint("here", 1), UserEndpoint("there", 2)
    joined = fixture.enter_streams("a", endpoint=here)
    assert joined.endpoint_epoch == 0, "that of the group as it is when it is stored"
    assert joined.endpoints == ((here, {"t": (0, 1, 2)}, {}),)
    fixture.enter_streams("b", endpoint=there)
    fixture.settle_streams("a", "b")
    told = fixture.report_tasks("a", endpoint_epoch=-1)
    assert told.endpoints is not None
    assert {row.endpoint: row.active for row in told.endpoints} == {
        here: {"t": (0, 1)},
        there: {"t": (2,)},
    }
    assert fixture.report_tasks("b", endpoint_epoch=told.endpoint_epoch).endpoints is None


def test_endpoints_without_tasks(fixture: StreamsGroupFixture) -> None:
    here = UserEndpoint("here", 1)
    joined = fixture.enter_streams("a", topology(reads("absent")), endpoint=here)
    assert joined.endpoints == ((here, {}, {}),)
