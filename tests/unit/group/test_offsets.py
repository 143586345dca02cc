"""Commits and look-ups, expiry and deletion."""

from __future__ import annotations

import pytest

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.removal import MAX_TOMBSTONES
from kcompat.group.requests import FetchAnswer, FetchedOffset, FetchingMember
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kcompat.records.control import ControlType, EndTransactionMarker
from support.group_world import GROUP, GroupWorld

T0, T1 = ("topic", 0), ("topic", 1)
OTHER = ("other", 0)
WEEK_MS = 7 * 24 * 3600_000
CHECK_MS = 600_000


def subscription(*topics: str) -> bytes:
    """What a consumer says when it joins: version 0, its topics."""
    message = ConsumerProtocolSubscription(topics=list(topics))
    return b"\0\0" + b"".join(message.encode(0))


# --- who may commit


def test_a_consumer_that_assigns_itself_commits(world: GroupWorld) -> None:
    assert world.commit({T0: 5, T1: 7}).value == {T0: ErrorCode.NONE, T1: ErrorCode.NONE}
    assert world.fetch() == {T0: 5, T1: 7}
    assert world.describe_state() == "Empty"


def test_a_member_commits(world: GroupWorld) -> None:
    (member,) = world.stable("a")
    assert world.commit({T0: 5}, member, 1).value == {T0: ErrorCode.NONE}


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
    world: GroupWorld, member_id: str, generation: int, error: ErrorCode
) -> None:
    world.stable("a")
    assert world.commit({T0: 5}, member_id, generation).value == {T0: error}
    assert world.fetch() == {}


def test_a_generation_needs_its_group(world: GroupWorld) -> None:
    assert world.commit({T0: 5}, "a-1", 1).value == {T0: ErrorCode.GROUP_ID_NOT_FOUND}
    assert world.group() is None
    assert world.commit({T0: 5}, "anybody").value == {T0: ErrorCode.NONE}
    assert world.commit({T0: 6}, "a-1", 1).value == {T0: ErrorCode.UNKNOWN_MEMBER_ID}


def test_commits_and_rebalances(world: GroupWorld) -> None:
    (member,) = world.stable("a")
    world.join(client_id="b")
    assert world.commit({T0: 5}, member, 1).value == {T0: ErrorCode.NONE}
    world.join(member)
    assert world.commit({T0: 6}, member, 2).value == {T0: ErrorCode.REBALANCE_IN_PROGRESS}


def test_a_commit_counts_as_a_heartbeat(world: GroupWorld) -> None:
    (member,) = world.stable("a")
    for _ in range(3):
        world.clock.advance(9_000)
        world.commit({T0: 5}, member, 1)
    assert world.heartbeat(member, 1) == ErrorCode.NONE


def test_long_metadata_is_refused_where_it_is(world: GroupWorld) -> None:
    world.commit({T1: 1})
    assert world.commit({T0: 5}, metadata="x" * 4096).value == {T0: ErrorCode.NONE}
    assert world.commit({T0: 6}, metadata="x" * 4097).value == {T0: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert world.commit({T0: 6}, metadata="😀" * 2049).value == {T0: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert world.fetch() == {T0: 5, T1: 1}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
    ],
)
def test_a_commit_that_cannot_be_written(world: GroupWorld, error: ErrorCode, told: ErrorCode) -> None:
    world.log.error = error
    assert world.commit({T0: 5, T1: 6}).value == {T0: told, T1: told}
    assert world.fetch() == {}


# --- what is read


def test_an_absent_offset_is_minus_one(world: GroupWorld) -> None:
    assert world.fetch_one(T0) == FetchedOffset(-1, -1, "", ErrorCode.NONE)
    world.commit({T1: 1})
    assert world.fetch_one(T0) == FetchedOffset(-1, -1, "", ErrorCode.NONE)
    assert world.fetch_one(T1, group_id="another") == FetchedOffset()


def test_null_metadata_reads_as_empty(world: GroupWorld) -> None:
    world.commit({T0: 5}, metadata=None)
    assert world.fetch_one(T0) == FetchedOffset(5, -1, "", ErrorCode.NONE)


def test_an_offset_is_visible_once_it_is_committed(world: GroupWorld) -> None:
    world.commit({T0: 5})
    world.log.hold()
    answer = world.commit({T0: 6, T1: 1})
    assert not answer.done
    assert world.fetch() == {T0: 5}
    assert world.fetch_one(T0, require_stable=True) == FetchedOffset(error=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert world.fetch_one(OTHER, require_stable=True) == FetchedOffset()
    world.log.release()
    assert answer.value == {T0: ErrorCode.NONE, T1: ErrorCode.NONE}
    assert world.fetch() == {T0: 6, T1: 1}
    assert world.fetch_one(T0, require_stable=True).offset == 6


def test_offsets_survive_a_restart(world: GroupWorld) -> None:
    world.commit({T0: 5, T1: 7}, metadata="where I am")
    world.commit({T0: 6})
    world.restart()
    assert world.fetch() == {T0: 6, T1: 7}
    assert world.fetch_one(T1).metadata == "where I am"


# --- transactions


COMMIT, ABORT = (EndTransactionMarker(kind, 0) for kind in (ControlType.COMMIT, ControlType.ABORT))


def test_staged_offsets_take_effect_with_the_marker(world: GroupWorld) -> None:
    world.stage(7, {T0: 5})
    assert world.fetch() == {}
    assert world.fetch_one(T0, require_stable=True).error == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert world.end_transaction(7, COMMIT).value == ErrorCode.NONE
    assert world.fetch() == {T0: 5}
    assert world.fetch_one(T0, require_stable=True).offset == 5
    world.stage(8, {T0: 9})
    world.end_transaction(8, ABORT)
    assert world.fetch() == {T0: 5}
    world.restart()
    assert world.fetch() == {T0: 5}


def test_staged_offsets_are_visible_once_the_marker_is_committed(world: GroupWorld) -> None:
    world.stage(7, {T0: 5})
    world.log.hold()
    ended = world.end_transaction(7, COMMIT)
    assert world.fetch() == {}
    assert world.fetch_one(T0, require_stable=True).error == ErrorCode.UNSTABLE_OFFSET_COMMIT
    world.log.release()
    assert ended.value == ErrorCode.NONE
    assert world.fetch() == {T0: 5}


def test_plain_and_transactional_commits_count_in_the_order_of_their_records(world: GroupWorld) -> None:
    world.commit({T1: 60})
    world.stage(7, {T0: 5, T1: 50})
    world.commit({T0: 6})
    world.end_transaction(7, COMMIT)
    assert world.fetch() == {T0: 6, T1: 50}
    world.restart()
    assert world.fetch() == {T0: 6, T1: 50}


# --- deletion


def test_deleting_offsets_of_an_empty_group(world: GroupWorld) -> None:
    world.commit({T0: 5, T1: 7})
    assert world.coordinator.delete_offsets(GROUP, [T0, OTHER]).value == (
        ErrorCode.NONE,
        {T0: ErrorCode.NONE, OTHER: ErrorCode.NONE},
    )
    assert world.fetch() == {T1: 7}
    world.restart()
    assert world.fetch() == {T1: 7}


def test_a_live_consumer_group_keeps_the_offsets_of_its_topics(world: GroupWorld) -> None:
    member = world.join(protocols=(("range", subscription("topic")),)).value.member_id
    world.sync(member, 1, {})
    world.commit({T0: 5, OTHER: 6}, member, 1)
    assert world.coordinator.delete_offsets(GROUP, [T0, OTHER]).value == (
        ErrorCode.NONE,
        {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, OTHER: ErrorCode.NONE},
    )
    assert world.fetch() == {T0: 5}


def test_other_live_groups_keep_all_their_offsets(world: GroupWorld) -> None:
    world.join(protocol_type="connect")
    assert world.coordinator.delete_offsets(GROUP, [T0]).value == (ErrorCode.NON_EMPTY_GROUP, {})
    assert world.coordinator.delete_offsets("absent", [T0]).value == (ErrorCode.GROUP_ID_NOT_FOUND, {})
    assert world.coordinator.delete_offsets("", [T0]).value == (ErrorCode.INVALID_GROUP_ID, {})


def test_unreadable_subscriptions_may_mean_any_topic(world: GroupWorld) -> None:
    member = world.join(protocols=(("range", b"\0\0\0"),)).value.member_id
    world.sync(member, 1, {})
    world.commit({T0: 5}, member, 1)
    assert world.coordinator.delete_offsets(GROUP, [T0]).value[1] == {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}


def test_deleting_groups(world: GroupWorld) -> None:
    (member,) = world.stable("a")
    world.commit({T0: 5}, member, 1)
    assert world.coordinator.delete(GROUP).value == ErrorCode.NON_EMPTY_GROUP
    world.leave(member)
    assert world.coordinator.delete(GROUP).value == ErrorCode.NONE
    assert world.group() is None
    assert world.fetch() == {}
    assert world.coordinator.delete(GROUP).value == ErrorCode.GROUP_ID_NOT_FOUND
    world.restart()
    assert world.group() is None


def test_a_group_that_was_never_written_is_deleted_too(world: GroupWorld) -> None:
    world.join(needs_member_id=True)
    assert world.coordinator.delete(GROUP).value == ErrorCode.NONE
    assert world.group() is None
    assert world.log.appends == 0


def test_offsets_of_deleted_topics_go(world: GroupWorld) -> None:
    world.commit({T0: 5, OTHER: 6})
    world.commit({T0: 7}, group_id="another")
    world.coordinator.forget_topics(lambda partition: partition[0] == "topic")
    assert world.fetch() == {OTHER: 6}
    assert world.fetch(group_id="another") == {}


def test_many_offsets_of_a_deleted_topic_go_in_batches_of_bounded_size(world: GroupWorld) -> None:
    many = MAX_TOMBSTONES + 500
    world.commit({("topic", index): 1 for index in range(many)} | {OTHER: 6})
    appends = world.log.appends
    world.coordinator.forget_topics(lambda partition: partition[0] == "topic")
    assert world.fetch() == {OTHER: 6}
    assert world.log.appends == appends + 2


# --- expiry


def expiring() -> GroupWorld:
    world = GroupWorld()
    world.coordinator.start()
    return world


def test_offsets_of_a_simple_consumer_expire_by_their_commits() -> None:
    world = expiring()
    world.commit({T0: 5})
    world.clock.advance(WEEK_MS - CHECK_MS)
    world.commit({T1: 6})
    assert world.fetch() == {T0: 5, T1: 6}
    world.clock.advance(CHECK_MS)
    assert world.fetch() == {T1: 6}
    world.clock.advance(WEEK_MS)
    assert world.group() is None
    world.check_invariants()


def test_offsets_of_a_group_expire_by_the_time_it_became_empty() -> None:
    world = expiring()
    (member,) = world.stable("a", session_timeout_ms=1_800_000)
    world.commit({T0: 5}, member, 1)
    for _ in range(700):
        world.clock.advance(1_000_000)
        assert world.heartbeat(member, 1) == ErrorCode.NONE
    assert world.fetch() == {T0: 5}
    world.leave(member)
    world.clock.advance(WEEK_MS - CHECK_MS)
    assert world.fetch() == {T0: 5}
    world.restart().start()  # the time it became empty is in the log
    world.clock.advance(2 * CHECK_MS)
    assert world.fetch() == {}
    assert world.group() is None
    world.restart()
    assert world.group() is None


def test_a_live_consumer_group_loses_offsets_of_topics_it_left() -> None:
    world = GroupWorld(GroupCoordinatorConfig(offsets_retention_ms=1_000_000))
    world.coordinator.start()
    subscribed = (("range", subscription("topic")),)
    member = world.join(protocols=subscribed, session_timeout_ms=1_800_000).value.member_id
    world.sync(member, 1, {})
    world.commit({T0: 5, OTHER: 6}, member, 1)
    world.clock.advance(1_200_000)
    assert world.fetch() == {T0: 5}


def test_a_retention_of_its_own_ends_when_it_says() -> None:
    world = expiring()
    world.commit({T0: 5}, retention_ms=1000)
    world.commit({T1: 6}, retention_ms=2 * WEEK_MS)
    world.restart().start()
    world.clock.advance(CHECK_MS)
    assert world.fetch() == {T1: 6}
    world.clock.advance(WEEK_MS + CHECK_MS)
    assert world.fetch() == {T1: 6}


def test_a_retention_without_an_end() -> None:
    world = expiring()
    world.commit({T0: 5}, retention_ms=2**63 - 1)
    world.restart().start()
    world.clock.advance(WEEK_MS + CHECK_MS)
    assert world.fetch() == {T0: 5}


def test_the_client_s_date_counts() -> None:
    world = expiring()
    world.commit({T0: 5}, timestamp=world.clock.now_ms() - WEEK_MS)
    world.clock.advance(CHECK_MS)
    assert world.fetch() == {}


def test_staged_offsets_never_expire() -> None:
    world = expiring()
    world.commit({T0: 5})
    world.stage(7, {T0: 6})
    world.coordinator.start()
    world.clock.advance(2 * WEEK_MS)
    assert world.fetch() == {T0: 5}
    world.end_transaction(7, COMMIT)
    assert world.fetch() == {T0: 6}


def test_many_offsets_expire_in_batches_of_bounded_size() -> None:
    world = expiring()
    world.commit({("topic", index): 1 for index in range(2 * MAX_TOMBSTONES + 1)})
    appends = world.log.appends
    world.clock.advance(WEEK_MS + CHECK_MS)
    assert world.group() is None
    assert world.log.appends == appends + 3


def test_housekeeping_that_fails_is_tried_again_later() -> None:
    world = expiring()
    world.commit({T0: 1})
    world.log.error = ErrorCode.KAFKA_STORAGE_ERROR
    world.clock.advance(WEEK_MS + CHECK_MS)
    assert world.fetch() == {T0: 1}
    world.log.error = ErrorCode.NONE
    world.clock.advance(CHECK_MS)
    assert world.group() is None


def test_empty_groups_that_keep_nothing_go() -> None:
    world = expiring()
    world.join(protocols=())
    assert world.describe_state() == "Empty"
    world.clock.advance(CHECK_MS)
    assert world.describe_state() == "Dead"


def test_only_what_has_to_be_stable_waits_until_it_is_certain_who_coordinates(world: GroupWorld) -> None:
    world.commit({T0: 5})
    world.log.leads = Promise()
    assert world.fetch() == {T0: 5}
    waiting = world.coordinator.fetch(FetchingMember(GROUP), None, require_stable=True)
    assert not waiting.done
    world.log.leads.complete(ErrorCode.REQUEST_TIMED_OUT)
    assert waiting.value == FetchAnswer(ErrorCode.NOT_COORDINATOR)


def test_commits_are_loaded_in_the_order_of_the_log_whatever_lies_between(world: GroupWorld) -> None:
    """Plain commits are taken many at a time, what deletes an offset is not."""
    world.commit({T0: 5, T1: 5})
    world.coordinator.delete_offsets(GROUP, [T0, T1])
    world.commit({T0: 7, OTHER: 1})
    world.commit({OTHER: 2}, group_id="another")
    world.stable("a")
    world.commit({OTHER: 3}, "a-1", 2)
    before = {group: world.fetch(group_id=group) for group in (GROUP, "another")}
    world.restart()
    assert {group: world.fetch(group_id=group) for group in (GROUP, "another")} == before
    assert before[GROUP].keys() == {T0, OTHER}
    assert world.describe_state() == "Stable"
