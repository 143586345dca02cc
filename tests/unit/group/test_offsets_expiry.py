"""When committed offsets expire, and empty groups with them."""

from __future__ import annotations

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.removal import MAX_TOMBSTONES
from kcompat.protocol.errors import ErrorCode
from kcompat.records.control import ControlType, EndTransactionMarker
from support.consumer_texts import subscription
from support.default_settings import with_defaults
from support.group_coordinators import GroupFixture

T0, T1 = ("topic", 0), ("topic", 1)
OTHER = ("other", 0)
WEEK_MS = 7 * 24 * 3600_000
CHECK_MS = 600_000


COMMIT = EndTransactionMarker(ControlType.COMMIT, 0)


def expiring() -> GroupFixture:
    fixture = GroupFixture()
    fixture.coordinator.start()
    return fixture


def test_offsets_of_a_simple_consumer_expire_by_their_commits() -> None:
    fixture = expiring()
    fixture.commit({T0: 5})
    fixture.clock.advance(WEEK_MS - CHECK_MS)
    fixture.commit({T1: 6})
    assert fixture.fetch() == {T0: 5, T1: 6}
    fixture.clock.advance(CHECK_MS)
    assert fixture.fetch() == {T1: 6}
    fixture.clock.advance(WEEK_MS)
    assert fixture.group() is None
    fixture.check_invariants()


def test_offsets_of_a_group_expire_by_the_time_it_became_empty() -> None:
    fixture = expiring()
    (member,) = fixture.stable("a", session_timeout_ms=1_800_000)
    fixture.commit({T0: 5}, member, 1)
    for _ in range(700):
        fixture.clock.advance(1_000_000)
        assert fixture.heartbeat(member, 1) == ErrorCode.NONE
    assert fixture.fetch() == {T0: 5}
    fixture.leave(member)
    fixture.clock.advance(WEEK_MS - CHECK_MS)
    assert fixture.fetch() == {T0: 5}
    fixture.restart().start()  # the time it became empty is in the log
    fixture.clock.advance(2 * CHECK_MS)
    assert fixture.fetch() == {}
    assert fixture.group() is None
    fixture.restart()
    assert fixture.group() is None


def test_a_live_consumer_group_loses_offsets_of_topics_it_left() -> None:
    fixture = GroupFixture(with_defaults(GroupCoordinatorConfig, offsets_retention_ms=1_000_000))
    fixture.coordinator.start()
    subscribed = (("range", subscription(["topic"])),)
    member = fixture.join(protocols=subscribed, session_timeout_ms=1_800_000).value.member_id
    fixture.sync(member, 1, {})
    fixture.commit({T0: 5, OTHER: 6}, member, 1)
    fixture.clock.advance(1_200_000)
    assert fixture.fetch() == {T0: 5}


def test_a_retention_of_its_own_ends_when_it_says() -> None:
    fixture = expiring()
    fixture.commit({T0: 5}, retention_ms=1000)
    fixture.commit({T1: 6}, retention_ms=2 * WEEK_MS)
    fixture.restart().start()
    fixture.clock.advance(CHECK_MS)
    assert fixture.fetch() == {T1: 6}
    fixture.clock.advance(WEEK_MS + CHECK_MS)
    assert fixture.fetch() == {T1: 6}


def test_a_retention_without_an_end() -> None:
    fixture = expiring()
    fixture.commit({T0: 5}, retention_ms=2**63 - 1)
    fixture.restart().start()
    fixture.clock.advance(WEEK_MS + CHECK_MS)
    assert fixture.fetch() == {T0: 5}


def test_the_client_s_date_counts() -> None:
    fixture = expiring()
    fixture.commit({T0: 5}, timestamp=fixture.clock.now_ms() - WEEK_MS)
    fixture.clock.advance(CHECK_MS)
    assert fixture.fetch() == {}


def test_staged_offsets_never_expire() -> None:
    fixture = expiring()
    fixture.commit({T0: 5})
    fixture.stage(7, {T0: 6})
    fixture.coordinator.start()
    fixture.clock.advance(2 * WEEK_MS)
    assert fixture.fetch() == {T0: 5}
    fixture.end_transaction(7, COMMIT)
    assert fixture.fetch() == {T0: 6}


def test_many_offsets_expire_in_batches_of_bounded_size() -> None:
    fixture = expiring()
    fixture.commit({("topic", index): 1 for index in range(2 * MAX_TOMBSTONES + 1)})
    appends = fixture.log.appends
    fixture.clock.advance(WEEK_MS + CHECK_MS)
    assert fixture.group() is None
    assert fixture.log.appends == appends + 3


def test_housekeeping_that_fails_is_tried_again_later() -> None:
    fixture = expiring()
    fixture.commit({T0: 1})
    fixture.log.error = ErrorCode.KAFKA_STORAGE_ERROR
    fixture.clock.advance(WEEK_MS + CHECK_MS)
    assert fixture.fetch() == {T0: 1}
    fixture.log.error = ErrorCode.NONE
    fixture.clock.advance(CHECK_MS)
    assert fixture.group() is None


def test_empty_groups_that_keep_nothing_go() -> None:
    fixture = expiring()
    fixture.join(protocols=())
    assert fixture.describe_state() == "Empty"
    fixture.clock.advance(CHECK_MS)
    assert fixture.describe_state() == "Dead"
