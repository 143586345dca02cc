"""Consumer groups beside what all kinds of groups share: offsets, lists, removal, restarts, other kinds."""

from __future__ import annotations

import pytest

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer.requests import ConsumerHeartbeatRequest
from kcompat.group.kinds.table import CONSUMER_KIND
from kcompat.group.requests import CommitRequest, FetchingMember, OffsetToCommit
from kcompat.protocol.errors import ErrorCode
from support.default_settings import with_defaults
from support.group_coordinators import GROUP, SESSION_MS, ConsumerGroupFixture, topic_id

T0, T1, T2 = ("t", 0), ("t", 1), ("t", 2)


def snapshot(fixture: ConsumerGroupFixture) -> tuple[object, ...]:
    """All that the log says of the group."""
    group = fixture.consumers()
    return (
        dict(group.members.items()),
        dict(group.targets.items()),
        dict(group.patterns.items()),
        group.header,
    )


def two(fixture: ConsumerGroupFixture) -> None:
    """Bring two members to their targets: `a` with t-0 and t-1, `b` with t-2."""
    fixture.enter("a")
    fixture.enter("b")
    fixture.settle("a", "b")


# --- offsets


def test_a_member_commits_in_its_epoch(fixture: ConsumerGroupFixture) -> None:
    two(fixture)
    assert fixture.commit({T0: 5, T2: 6}, "a", fixture.epochs["a"]).value == {T0: 0, T2: 0}
    assert fixture.fetch() == {T0: 5, T2: 6}


def test_in_an_older_epoch_it_commits_what_it_had_by_then(fixture: ConsumerGroupFixture) -> None:
    two(fixture)
    stale = ErrorCode.STALE_MEMBER_EPOCH
    assert fixture.commit({T0: 5}, "a", 2).value == {T0: ErrorCode.NONE}
    assert fixture.commit({T0: 5, T2: 6}, "a", 2).value == {T0: stale, T2: stale}, "all or nothing"
    assert fixture.commit({T2: 6}, "b", 2).value == {T2: stale}, "it got the partition later"
    assert fixture.commit({T0: 5}, "a", 9).value == {T0: stale}


def test_what_is_being_given_up_may_be_committed(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.enter("b")
    fixture.report("a")
    assert fixture.commit({T2: 7}, "a", 2).value == {T2: 0}


def test_who_may_not_commit(fixture: ConsumerGroupFixture) -> None:
    two(fixture)
    assert fixture.commit({T0: 5}, "x", 3).value == {T0: ErrorCode.UNKNOWN_MEMBER_ID}
    assert fixture.commit({T0: 5}).value == {T0: ErrorCode.UNKNOWN_MEMBER_ID}
    old = CommitRequest(GROUP, (OffsetToCommit("t", 0, 5),), "a", 3, knows_epochs=False)
    assert fixture.coordinator.commit(old).value == {T0: ErrorCode.UNSUPPORTED_VERSION}


def test_an_empty_group_takes_commits_of_anybody(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.beat("a", -1)
    assert fixture.commit({T0: 5}).value == {T0: ErrorCode.NONE}


@pytest.mark.parametrize(
    ("member_id", "epoch", "error"),
    [
        (None, -1, ErrorCode.NONE),
        ("a", 3, ErrorCode.NONE),
        ("a", 2, ErrorCode.STALE_MEMBER_EPOCH),
        ("x", 3, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_fetching_offsets(
    fixture: ConsumerGroupFixture, member_id: str | None, epoch: int, error: ErrorCode
) -> None:
    two(fixture)
    asker = FetchingMember(GROUP, member_id, epoch)
    assert fixture.coordinator.fetch(asker, [T0], require_stable=False).value.error is error


def test_deleting_offsets_of_topics_that_are_not_subscribed_to(fixture: ConsumerGroupFixture) -> None:
    two(fixture)
    fixture.commit({T0: 5, ("u", 0): 5}, "a", 3)
    assert fixture.coordinator.delete_offsets(GROUP, [T0, ("u", 0)]).value == (
        ErrorCode.NONE,
        {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ("u", 0): ErrorCode.NONE},
    )


def test_offsets_expire_by_their_own_time_while_nobody_subscribes() -> None:
    fixture = ConsumerGroupFixture(
        with_defaults(GroupCoordinatorConfig, offsets_retention_ms=600_000, retention_check_interval_ms=1_000)
    )
    fixture.coordinator.start()
    fixture.enter("a", "u")
    fixture.commit({T0: 5, ("u", 0): 6}, "a", 2)
    passed_ms, retention_ms = 0, fixture.config.offsets_retention_ms
    while passed_ms < retention_ms:
        assert fixture.fetch() == {T0: 5, ("u", 0): 6}
        fixture.clock.advance(SESSION_MS - 1)
        fixture.beat("a")
        passed_ms += SESSION_MS - 1
    fixture.clock.advance(SESSION_MS - 1)
    assert fixture.fetch() == {("u", 0): 6}


# --- lists and removal


def test_listing_and_describing(fixture: ConsumerGroupFixture) -> None:
    two(fixture)
    (listed,) = fixture.coordinator.list_groups(frozenset(), frozenset({"consumer"}))[1]
    assert (listed.group_id, listed.protocol_type, listed.state, listed.group_type) == (
        GROUP,
        "consumer",
        "Stable",
        "consumer",
    )
    assert fixture.coordinator.list_groups(frozenset(), frozenset({"classic"}))[1] == []
    assert fixture.coordinator.list_groups(frozenset({"empty"}), frozenset())[1] == []
    classic = fixture.coordinator.describe(GROUP)
    assert (classic.error, classic.message, classic.state) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group group is not a classic group.",
        "Dead",
    )


def test_what_is_told_of_a_group_is_what_is_committed(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.log.hold()
    before = fixture.coordinator.describe_modern(CONSUMER_KIND, GROUP)
    waiting = fixture.coordinator.modern_heartbeat(
        CONSUMER_KIND,
        ConsumerHeartbeatRequest(
            GROUP, "b", 0, "c", "/h", lambda _t: True, None, None, 1000, frozenset("t"), None, None, {}
        ),
    )
    assert not waiting.done
    assert fixture.coordinator.describe_modern(CONSUMER_KIND, GROUP) == before
    fixture.log.release()
    assert waiting.value.member_epoch == 3
    assert len(fixture.coordinator.describe_modern(CONSUMER_KIND, GROUP).members) == 2


def test_describing_tells_what_a_member_has_and_is_to_have(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", rack_id="r", instance_id="i")
    fixture.enter("b")
    fixture.report("a")
    described = fixture.coordinator.describe_modern(CONSUMER_KIND, GROUP)
    assert (described.state.value if described.state else None, described.group_epoch) == ("Reconciling", 3)
    assert (described.assignment_epoch, described.assignor) == (3, "uniform")
    a, b = described.members
    assert (a.member_id, a.member_epoch, a.instance_id, a.rack_id, a.is_classic) == ("a", 2, "i", "r", False)
    assert a.assigned == {topic_id("t"): (0, 1, 2)}, "with what it has yet to give up"
    assert a.target == {topic_id("t"): (0, 1)}
    assert (b.member_epoch, b.assigned, b.target) == (3, {}, {topic_id("t"): (2,)})


def test_deleting(fixture: ConsumerGroupFixture) -> None:
    two(fixture)
    fixture.commit({T0: 5}, "a", 3)
    assert fixture.coordinator.delete(GROUP).value is ErrorCode.NON_EMPTY_GROUP
    for member in "ab":
        fixture.beat(member, -1)
    assert fixture.coordinator.delete(GROUP).value is ErrorCode.NONE
    assert fixture.coordinator.list_groups(frozenset(), frozenset())[1] == []
    fixture.restart()
    assert not any(shard.groups or shard.offsets for shard in fixture.shards)


# --- restarts


def test_a_restart_changes_nothing_that_the_log_says(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", instance_id="i", server_assignor="range", rack_id="r")
    fixture.enter("b")
    fixture.report("a")
    fixture.enter("c", subscribed_topics=None, subscribed_regex="u")
    fixture.clock.advance(0)
    fixture.report("c")
    before = snapshot(fixture)
    fixture.restart()
    assert snapshot(fixture) == before
    fixture.settle("a", "b", "c")
    assert fixture.owned("c") == {"u": [0, 1]}


def test_sessions_and_the_time_to_give_up_begin_anew(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", rebalance_timeout_ms=10_000)
    fixture.enter("b")
    fixture.report("a")
    fixture.clock.advance(9_000)
    fixture.restart()
    fixture.clock.advance(9_999)
    assert not fixture.beat("a").error
    fixture.clock.advance(1)
    assert fixture.beat("a").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert not fixture.beat("b").error


# --- other kinds of groups


def test_an_empty_classic_group_becomes_a_consumer_group_with_its_offsets(
    fixture: ConsumerGroupFixture,
) -> None:
    (member,) = fixture.stable("x")
    fixture.commit({T0: 5}, member, 1)
    fixture.leave(member)
    assert fixture.enter("a").member_epoch == 2
    assert fixture.fetch() == {T0: 5}
    fixture.restart()
    assert fixture.owned("a") == {"t": [0, 1, 2]}
    assert fixture.fetch() == {T0: 5}


def test_a_group_of_offsets_alone_becomes_a_consumer_group(fixture: ConsumerGroupFixture) -> None:
    fixture.commit({T0: 5})
    fixture.enter("a")
    assert fixture.fetch() == {T0: 5}
    fixture.restart()
    assert fixture.fetch() == {T0: 5}
    assert fixture.consumers().members.get("a") is not None


def test_an_empty_consumer_group_becomes_a_classic_one_with_its_offsets(
    fixture: ConsumerGroupFixture,
) -> None:
    fixture.enter("a")
    fixture.commit({T0: 5}, "a", 2)
    fixture.beat("a", -1)
    joined = fixture.join()
    assert joined.value.generation == 1
    assert fixture.fetch() == {T0: 5}
    fixture.sync(joined.value.member_id, 1, {joined.value.member_id: b"x"})
    fixture.restart()
    assert isinstance(fixture.group(), ClassicGroup)
    assert fixture.describe_state() == "Stable"


def test_a_join_that_waits_for_a_consumer_group_to_give_way_hears_that_the_coordinator_moved(
    fixture: ConsumerGroupFixture,
) -> None:
    """The member that joins is in no group yet, so no group can answer the join."""
    fixture.enter("a")
    fixture.beat("a", -1)
    fixture.log.hold()
    joined = fixture.join()
    assert not joined.done
    fixture.coordinator.unload(fixture.coordinator.partition_of(GROUP), 2)
    assert joined.value.error == ErrorCode.NOT_COORDINATOR
