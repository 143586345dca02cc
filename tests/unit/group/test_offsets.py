"""Commits and look-ups, expiry and deletion."""

from __future__ import annotations

import pytest

from kcompat.group.removal import MAX_TOMBSTONES
from kcompat.group.requests import FetchAnswer, FetchedOffset, FetchingMember
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.records.control import ControlType, EndTransactionMarker
from support.consumer_texts import subscription
from support.group_coordinators import GROUP, GroupFixture

T0, T1 = ("topic", 0), ("topic", 1)
OTHER = ("other", 0)


# --- who may commit


def test_a_consumer_that_assigns_itself_commits(fixture: GroupFixture) -> None:
    assert fixture.commit({T0: 5, T1: 7}).value == {T0: ErrorCode.NONE, T1: ErrorCode.NONE}
    assert fixture.fetch() == {T0: 5, T1: 7}
    assert fixture.describe_state() == "Empty"


def test_a_member_commits(fixture: GroupFixture) -> None:
    (member,) = fixture.stable("a")
    assert fixture.commit({T0: 5}, member, 1).value == {T0: ErrorCode.NONE}


@pytest.mark.parametrize(
    ("member_id", "generation", "error"),
    [
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("x", -1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a-1", -1, ErrorCode.ILLEGAL_GENERATION),
        ("", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("x", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a-1", 0, ErrorCode.ILLEGAL_GENERATION),
        ("a-1", 2, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_others_may_not_commit_to_a_live_group(
    fixture: GroupFixture, member_id: str, generation: int, error: ErrorCode
) -> None:
    fixture.stable("a")
    assert fixture.commit({T0: 5}, member_id, generation).value == {T0: error}
    assert fixture.fetch() == {}


def test_a_generation_needs_its_group(fixture: GroupFixture) -> None:
    assert fixture.commit({T0: 5}, "a-1", 1).value == {T0: ErrorCode.GROUP_ID_NOT_FOUND}
    assert fixture.group() is None
    assert fixture.commit({T0: 5}, "anybody").value == {T0: ErrorCode.NONE}
    assert fixture.commit({T0: 6}, "a-1", 1).value == {T0: ErrorCode.UNKNOWN_MEMBER_ID}


def test_commits_and_rebalances(fixture: GroupFixture) -> None:
    (member,) = fixture.stable("a")
    fixture.join(client_id="b")
    assert fixture.commit({T0: 5}, member, 1).value == {T0: ErrorCode.NONE}
    fixture.join(member)
    assert fixture.commit({T0: 6}, member, 2).value == {T0: ErrorCode.REBALANCE_IN_PROGRESS}


def test_a_commit_counts_as_a_heartbeat(fixture: GroupFixture) -> None:
    (member,) = fixture.stable("a")
    for _ in range(3):
        fixture.clock.advance(9_000)
        fixture.commit({T0: 5}, member, 1)
    assert fixture.heartbeat(member, 1) == ErrorCode.NONE


def test_long_metadata_is_refused_where_it_is(fixture: GroupFixture) -> None:
    fixture.commit({T1: 1})
    assert fixture.commit({T0: 5}, metadata="x" * 4096).value == {T0: ErrorCode.NONE}
    assert fixture.commit({T0: 6}, metadata="x" * 4097).value == {T0: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert fixture.commit({T0: 6}, metadata="😀" * 2049).value == {T0: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert fixture.fetch() == {T0: 5, T1: 1}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
    ],
)
def test_a_commit_that_cannot_be_written(fixture: GroupFixture, error: ErrorCode, told: ErrorCode) -> None:
    fixture.log.error = error
    assert fixture.commit({T0: 5, T1: 6}).value == {T0: told, T1: told}
    assert fixture.fetch() == {}


# --- what is read


def test_an_absent_offset_is_minus_one(fixture: GroupFixture) -> None:
    assert fixture.fetch_one(T0) == FetchedOffset(-1, -1, "", ErrorCode.NONE)
    fixture.commit({T1: 1})
    assert fixture.fetch_one(T0) == FetchedOffset(-1, -1, "", ErrorCode.NONE)
    assert fixture.fetch_one(T1, group_id="another") == FetchedOffset()


def test_null_metadata_reads_as_empty(fixture: GroupFixture) -> None:
    fixture.commit({T0: 5}, metadata=None)
    assert fixture.fetch_one(T0) == FetchedOffset(5, -1, "", ErrorCode.NONE)


def test_an_offset_is_visible_once_it_is_committed(fixture: GroupFixture) -> None:
    fixture.commit({T0: 5})
    fixture.log.hold()
    answer = fixture.commit({T0: 6, T1: 1})
    assert not answer.done
    assert fixture.fetch() == {T0: 5}
    assert fixture.fetch_one(T0, require_stable=True) == FetchedOffset(error=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert fixture.fetch_one(OTHER, require_stable=True) == FetchedOffset()
    fixture.log.release()
    assert answer.value == {T0: ErrorCode.NONE, T1: ErrorCode.NONE}
    assert fixture.fetch() == {T0: 6, T1: 1}
    assert fixture.fetch_one(T0, require_stable=True).offset == 6


def test_offsets_survive_a_restart(fixture: GroupFixture) -> None:
    fixture.commit({T0: 5, T1: 7}, metadata="where I am")
    fixture.commit({T0: 6})
    fixture.restart()
    assert fixture.fetch() == {T0: 6, T1: 7}
    assert fixture.fetch_one(T1).metadata == "where I am"


# --- transactions


COMMIT, ABORT = (EndTransactionMarker(kind, 0) for kind in (ControlType.COMMIT, ControlType.ABORT))


def test_staged_offsets_take_effect_with_the_marker(fixture: GroupFixture) -> None:
    fixture.stage(7, {T0: 5})
    assert fixture.fetch() == {}
    assert fixture.fetch_one(T0, require_stable=True).error == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert fixture.end_transaction(7, COMMIT).value == ErrorCode.NONE
    assert fixture.fetch() == {T0: 5}
    assert fixture.fetch_one(T0, require_stable=True).offset == 5
    fixture.stage(8, {T0: 9})
    fixture.end_transaction(8, ABORT)
    assert fixture.fetch() == {T0: 5}
    fixture.restart()
    assert fixture.fetch() == {T0: 5}


def test_staged_offsets_are_visible_once_the_marker_is_committed(fixture: GroupFixture) -> None:
    fixture.stage(7, {T0: 5})
    fixture.log.hold()
    ended = fixture.end_transaction(7, COMMIT)
    assert fixture.fetch() == {}
    assert fixture.fetch_one(T0, require_stable=True).error == ErrorCode.UNSTABLE_OFFSET_COMMIT
    fixture.log.release()
    assert ended.value == ErrorCode.NONE
    assert fixture.fetch() == {T0: 5}


def test_plain_and_transactional_commits_count_in_the_order_of_their_records(fixture: GroupFixture) -> None:
    fixture.commit({T1: 60})
    fixture.stage(7, {T0: 5, T1: 50})
    fixture.commit({T0: 6})
    fixture.end_transaction(7, COMMIT)
    assert fixture.fetch() == {T0: 6, T1: 50}
    fixture.restart()
    assert fixture.fetch() == {T0: 6, T1: 50}


# --- deletion


def test_deleting_offsets_of_an_empty_group(fixture: GroupFixture) -> None:
    fixture.commit({T0: 5, T1: 7})
    assert fixture.coordinator.delete_offsets(GROUP, [T0, OTHER]).value == (
        ErrorCode.NONE,
        {T0: ErrorCode.NONE, OTHER: ErrorCode.NONE},
    )
    assert fixture.fetch() == {T1: 7}
    fixture.restart()
    assert fixture.fetch() == {T1: 7}


def test_a_live_consumer_group_keeps_the_offsets_of_its_topics(fixture: GroupFixture) -> None:
    member = fixture.join(protocols=(("range", subscription(["topic"])),)).value.member_id
    fixture.sync(member, 1, {})
    fixture.commit({T0: 5, OTHER: 6}, member, 1)
    assert fixture.coordinator.delete_offsets(GROUP, [T0, OTHER]).value == (
        ErrorCode.NONE,
        {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, OTHER: ErrorCode.NONE},
    )
    assert fixture.fetch() == {T0: 5}


def test_other_live_groups_keep_all_their_offsets(fixture: GroupFixture) -> None:
    fixture.join(protocol_type="connect")
    assert fixture.coordinator.delete_offsets(GROUP, [T0]).value == (ErrorCode.NON_EMPTY_GROUP, {})
    assert fixture.coordinator.delete_offsets("absent", [T0]).value == (ErrorCode.GROUP_ID_NOT_FOUND, {})
    assert fixture.coordinator.delete_offsets("", [T0]).value == (ErrorCode.INVALID_GROUP_ID, {})


def test_unreadable_subscriptions_may_mean_any_topic(fixture: GroupFixture) -> None:
    member = fixture.join(protocols=(("range", b"\0\0\0"),)).value.member_id
    fixture.sync(member, 1, {})
    fixture.commit({T0: 5}, member, 1)
    assert fixture.coordinator.delete_offsets(GROUP, [T0]).value[1] == {
        T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    }


def test_deleting_groups(fixture: GroupFixture) -> None:
    (member,) = fixture.stable("a")
    fixture.commit({T0: 5}, member, 1)
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.NON_EMPTY_GROUP
    fixture.leave(member)
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.NONE
    assert fixture.group() is None
    assert fixture.fetch() == {}
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.GROUP_ID_NOT_FOUND
    fixture.restart()
    assert fixture.group() is None


def test_a_group_that_was_never_written_is_deleted_too(fixture: GroupFixture) -> None:
    fixture.join(needs_member_id=True)
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.NONE
    assert fixture.group() is None
    assert fixture.log.appends == 0


def test_offsets_of_deleted_topics_go(fixture: GroupFixture) -> None:
    fixture.commit({T0: 5, OTHER: 6})
    fixture.commit({T0: 7}, group_id="another")
    fixture.coordinator.forget_topics(lambda partition: partition[0] == "topic")
    assert fixture.fetch() == {OTHER: 6}
    assert fixture.fetch(group_id="another") == {}


def test_many_offsets_of_a_deleted_topic_go_in_batches_of_bounded_size(fixture: GroupFixture) -> None:
    many = MAX_TOMBSTONES + 500
    fixture.commit({("topic", index): 1 for index in range(many)} | {OTHER: 6})
    appends = fixture.log.appends
    fixture.coordinator.forget_topics(lambda partition: partition[0] == "topic")
    assert fixture.fetch() == {OTHER: 6}
    assert fixture.log.appends == appends + 2


def test_only_what_has_to_be_stable_waits_until_it_is_certain_who_coordinates(fixture: GroupFixture) -> None:
    fixture.commit({T0: 5})
    fixture.log.leads = Promise()
    assert fixture.fetch() == {T0: 5}
    waiting = fixture.coordinator.fetch(FetchingMember(GROUP), None, require_stable=True)
    assert not waiting.done
    fixture.log.leads.complete(ErrorCode.REQUEST_TIMED_OUT)
    assert waiting.value == FetchAnswer(ErrorCode.NOT_COORDINATOR)


def test_commits_are_loaded_in_the_order_of_the_log_whatever_lies_between(fixture: GroupFixture) -> None:
    """Plain commits are taken many at a time, what deletes an offset is not."""
    fixture.commit({T0: 5, T1: 5})
    fixture.coordinator.delete_offsets(GROUP, [T0, T1])
    fixture.commit({T0: 7, OTHER: 1})
    fixture.commit({OTHER: 2}, group_id="another")
    fixture.stable("a")
    fixture.commit({OTHER: 3}, "a-1", 2)
    before = {group: fixture.fetch(group_id=group) for group in (GROUP, "another")}
    fixture.restart()
    assert {group: fixture.fetch(group_id=group) for group in (GROUP, "another")} == before
    assert before[GROUP].keys() == {T0, OTHER}
    assert fixture.describe_state() == "Stable"
