"""A streams group among groups of other kinds; its offsets, its end, and what is told of it."""

from __future__ import annotations

import pytest

from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.streams.members import StreamsState
from kcompat.group.requests import FetchingMember
from kcompat.protocol.errors import ErrorCode
from support.group_coordinators import GROUP
from support.streams_groups import IN_TWO_STEPS, STATELESS, StreamsGroupFixture, reads, topology

STALE = ErrorCode.STALE_MEMBER_EPOCH


def test_other_groups_stay_what_they_are(fixture: StreamsGroupFixture) -> None:
    fixture.enter("c")
    answer = fixture.enter_streams("a")
    assert (answer.error, answer.message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Group {GROUP} is not a streams group.",
    )
    assert fixture.stream("a", 1).error == ErrorCode.GROUP_ID_NOT_FOUND
    assert fixture.described().message == f"Group {GROUP} is not a streams group."
    assert fixture.described("absent").message == "Group absent not found."


def test_it_stays_what_it_is_to_consumers(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    for _ in range(2):
        assert fixture.enter("c").error == ErrorCode.GROUP_ID_NOT_FOUND
        fixture.leave_streams("a")


def test_a_classic_group_without_members_gives_way(fixture: StreamsGroupFixture) -> None:
    fixture.commit({("t", 0): 7})
    assert not fixture.enter_streams("a").error
    fetched = fixture.coordinator.fetch(FetchingMember(GROUP), [("t", 0)], require_stable=False).value
    assert fetched.offsets["t", 0].offset == 7
    fixture.leave_streams("a")
    joined = fixture.join().value
    assert joined.error == ErrorCode.NONE
    assert isinstance(fixture.group(), ClassicGroup)
    assert fixture.enter_streams("a").error == ErrorCode.GROUP_ID_NOT_FOUND, "it has a member"


def test_classic_members_are_none_of_it(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    assert fixture.join().value.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert fixture.sync("a", 1).value.error == ErrorCode.UNKNOWN_MEMBER_ID
    assert fixture.heartbeat("a", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert fixture.coordinator.describe(GROUP).error == ErrorCode.GROUP_ID_NOT_FOUND


def test_members_commit_in_their_epoch(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    epoch = fixture.epochs["a"]
    for member_id, generation, error in (
        ("a", epoch, ErrorCode.NONE),
        ("a", epoch + 1, STALE),
        ("a", epoch - 1, STALE),
        ("stranger", epoch, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        assert fixture.commit({("t", 0): 1}, member_id, generation).value == {("t", 0): error}
    for asking_id, generation, error in (
        ("a", epoch, ErrorCode.NONE),
        ("a", epoch - 1, STALE),
        ("stranger", epoch, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, -1, ErrorCode.NONE),
    ):
        asker = FetchingMember(GROUP, asking_id, generation)
        assert fixture.coordinator.fetch(asker, [("t", 0)], require_stable=False).value.error == error


def test_members_commit_in_an_older_epoch_what_they_had_then(fixture: StreamsGroupFixture) -> None:
    fixture.make("between", 3)
    fixture.make("log", 3)
    fixture.enter_streams("a", IN_TWO_STEPS)
    older = fixture.epochs["a"]
    fixture.enter_streams("b", IN_TWO_STEPS)
    fixture.settle_streams("a", "b")
    ((_, kept), *_), ((_, gone), *_) = (
        [
            (name, number)
            for name, numbers in fixture.has[member_id][0].items()
            for number in numbers
            if name == "1"
        ]
        for member_id in "ab"
    )
    for topic, number, error in (
        ("between", kept, ErrorCode.NONE),
        ("between", gone, STALE),
        ("log", kept, STALE),
        ("another", kept, STALE),
    ):
        assert fixture.commit({(topic, number): 1}, "a", older).value == {(topic, number): error}


def test_anybody_commits_in_a_group_without_members(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    fixture.leave_streams("a")
    assert fixture.commit({("t", 0): 1}).value == {("t", 0): ErrorCode.NONE}


def test_offsets_of_topics_that_are_read_are_kept(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    fixture.commit({("t", 0): 1, ("u", 0): 1}, "a", fixture.epochs["a"])
    wanted = [("t", 0), ("u", 0)]
    assert fixture.coordinator.delete_offsets(GROUP, wanted).value == (
        ErrorCode.NONE,
        {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ("u", 0): ErrorCode.NONE},
    )
    fixture.leave_streams("a")
    assert fixture.coordinator.delete_offsets(GROUP, wanted).value[1]["t", 0] == ErrorCode.NONE


def test_a_group_is_deleted_once_it_has_no_members(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a")
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.NON_EMPTY_GROUP
    fixture.leave_streams("a")
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.NONE
    assert fixture.described().error == ErrorCode.GROUP_ID_NOT_FOUND
    fixture.restart()
    assert fixture.described().error == ErrorCode.GROUP_ID_NOT_FOUND


def test_an_empty_group_is_forgotten_with_its_offsets(fixture: StreamsGroupFixture) -> None:
    fixture.coordinator.start()
    fixture.enter_streams("a")
    fixture.commit({("t", 0): 1}, "a", fixture.epochs["a"])
    fixture.leave_streams("a")
    fixture.clock.advance(fixture.config.offsets_retention_ms - 1)
    assert not fixture.described().error
    fixture.clock.advance(2 * fixture.config.retention_check_interval_ms)
    assert fixture.described().error == ErrorCode.GROUP_ID_NOT_FOUND
    fixture.coordinator.stop()


@pytest.mark.parametrize(("state", "seen"), [("stable", True), ("empty", False)])
def test_it_is_listed(fixture: StreamsGroupFixture, state: str, seen: bool) -> None:
    fixture.enter_streams("a")
    _, found = fixture.coordinator.list_groups({state}, {"streams"})
    assert [(row.protocol_type, row.state, row.group_type) for row in found] == (
        [("streams", "Stable", "streams")] if seen else []
    )
    assert fixture.coordinator.list_groups(set(), {"consumer", "classic", "share"})[1] == []


def test_the_topology_is_described_as_it_is_laid_out(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a", IN_TWO_STEPS)
    told = fixture.described()
    assert told.state is StreamsState.NOT_READY
    fixture.report_tasks("a")
    laid_out = fixture.described()
    counts = [
        [topic.partitions for each in group.topology.subtopologies for topic in each.state_changelog_topics]
        for group in (told, laid_out)
        if group.topology is not None
    ]
    assert counts == [[0], [3]]
    assert (laid_out.group_epoch, laid_out.assignment_epoch) == (3, 3)
    (member,) = laid_out.members
    assert member.target.active == {"0": {0, 1, 2}, "1": {0, 1, 2}}


def test_two_groups_of_one_application_id_are_one(fixture: StreamsGroupFixture) -> None:
    fixture.enter_streams("a", STATELESS)
    answer = fixture.enter_streams("b", topology(reads("u")))
    assert (answer.error, answer.message) == (
        ErrorCode.INVALID_REQUEST,
        "Topology updates are not supported yet.",
    )
