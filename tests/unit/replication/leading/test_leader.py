"""The machine that a leader is: who is in sync, and what is committed, given how far everybody's log is."""

from __future__ import annotations

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.isr import Committed, PendingExpand, PendingShrink
from kcompat.replication.leading.leader import FETCH_GRACE_MS, NOT_APPLIED, OVERTAKEN, Leader
from support.current import current
from support.leaders import FETCH_WAIT, LAG, ME, NOW, OTHER, SESSION_TIMEOUT, THIRD, Cluster, fetched, leader


def test_the_only_replica_commits_at_once() -> None:
    alone = leader(ME, replicas=(ME,))
    assert alone.high_watermark == 7
    assert alone.advance(10, NOW)
    assert alone.advance(12, NOW)
    assert alone.high_watermark == 12
    alone.check_invariants(12)


def test_the_high_watermark_never_falls() -> None:
    alone = leader(ME, replicas=(ME,))
    assert not alone.advance(6, NOW)
    assert not alone.advance(7, NOW)
    assert alone.high_watermark == 7


@pytest.mark.parametrize("isr", [(ME, OTHER), (OTHER, ME), (ME, OTHER, THIRD)])
def test_nothing_moves_before_all_in_sync_have_fetched(isr: tuple[int, ...]) -> None:
    among_others = leader(*isr)
    assert not among_others.advance(12, NOW)
    assert not fetched(among_others, OTHER, 7, end=12)
    assert among_others.high_watermark == 7
    assert among_others.committed(8) is None


def test_the_slowest_in_sync_says_what_is_committed() -> None:
    three = leader(ME, OTHER, THIRD)
    assert not fetched(three, OTHER, 12, end=12)
    assert fetched(three, THIRD, 9, end=12)
    assert three.high_watermark == 9
    assert three.committed(9) == ErrorCode.NONE
    assert not fetched(three, OTHER, 11, end=12), "a follower that went back takes nothing back"
    assert fetched(three, THIRD, 12, end=12)
    assert three.high_watermark == 11


def test_who_is_out_of_sync_is_not_waited_for() -> None:
    two = leader(ME, OTHER)
    assert fetched(two, OTHER, 12, end=12)
    assert two.high_watermark == 12


def test_who_is_about_to_join_is_waited_for_a_while() -> None:
    """The newcomer would never get into sync if the high watermark ran ahead of it."""
    cluster = Cluster()
    alone = leader(ME, cluster=cluster, end=10, high=10)
    fetched(alone, OTHER, 10, end=10)
    assert not alone.advance(20, NOW + LAG), "it was caught up that long ago"
    cluster.alive.remove(OTHER)
    assert alone.advance(20, NOW + LAG), "it is down"
    cluster.alive.add(OTHER)
    assert alone.advance(21, NOW + LAG + 1), "it has fallen behind"


def test_nothing_moves_below_min_insync_replicas() -> None:
    """KIP-966; what was committed before stays so, but no wait for more replicas ends well."""
    alone = leader(ME, min_insync=2)
    assert not current(alone.has_quorum)
    assert not alone.advance(12, NOW)
    assert alone.committed(7) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert alone.committed(8) is None
    alone.require_in_sync(1)
    assert alone.has_quorum
    assert alone.advance(12, NOW)
    assert alone.committed(12) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("isr", "replicas", "min_insync", "has_quorum"),
    [
        ((ME,), (ME,), 1, True),
        ((ME,), (ME,), 3, True),
        ((ME,), (ME, OTHER), 2, False),
        ((ME, OTHER), (ME, OTHER), 3, True),
        ((ME, OTHER), (ME, OTHER, THIRD), 2, True),
        ((ME, OTHER), (ME, OTHER, THIRD), 3, False),
    ],
)
def test_min_insync_replicas_never_asks_for_more_than_there_are(
    isr: tuple[int, ...], replicas: tuple[int, ...], min_insync: int, has_quorum: bool
) -> None:
    assert leader(*isr, replicas=replicas, min_insync=min_insync).has_quorum is has_quorum


def test_a_new_leader_does_not_know_the_latest_offset() -> None:
    """KIP-207: its predecessor may have shown more."""
    new = leader(ME, end=10, high=7)
    assert not new.knows_latest_offset
    new.advance(9, NOW)
    assert not new.knows_latest_offset
    new.advance(10, NOW)
    assert new.knows_latest_offset


def test_a_leader_leads() -> None:
    with pytest.raises(AssertionError):
        Leader(
            ME,
            Role(OTHER, 5, (OTHER,), (ME, OTHER)),
            Cluster().rule(),
            min_insync_replicas=1,
            log_end_offset=0,
            high_watermark=0,
            now_ms=NOW,
        )


# -- joining the ISR -------------------------------------------------------------------------------------


def test_who_has_caught_up_is_proposed() -> None:
    two = leader(ME, OTHER, end=10, high=7)
    fetched(two, OTHER, 10, end=10)
    fetched(two, THIRD, 9, end=10)
    assert two.expand(THIRD) is None, "it lacks what was committed"
    two.fetched(THIRD, 10, 0, log_end_offset=12, now_ms=NOW, broker_epoch=77)
    assert isinstance(pending := two.expand(THIRD), PendingExpand)
    two.fetched(THIRD, 3, 0, log_end_offset=12, now_ms=NOW, broker_epoch=78)  # its next life changes nothing
    assert (pending.isr, pending.registrations) == ((ME, OTHER), {OTHER: -1, THIRD: 77})
    assert pending.proposed == pending.maximal == (ME, OTHER, THIRD)
    two.check_invariants(12)


def test_where_the_epoch_began_counts_too() -> None:
    """Below it there may be records that an earlier leader has committed."""
    two = leader(ME, OTHER, end=10, high=7)
    fetched(two, THIRD, 8, end=10)
    assert two.expand(THIRD) is None
    fetched(two, THIRD, 10, end=10)
    assert two.expand(THIRD) is not None


def test_who_is_in_sync_or_down_is_not_proposed() -> None:
    cluster = Cluster()
    two = leader(ME, OTHER, cluster=cluster)
    fetched(two, OTHER, 10, end=10)
    fetched(two, THIRD, 10, end=10)
    assert two.expand(OTHER) is None
    cluster.alive.remove(THIRD)
    assert two.expand(THIRD) is None


def test_one_change_at_a_time() -> None:
    alone = leader(ME)
    fetched(alone, OTHER, 10, end=10)
    fetched(alone, THIRD, 10, end=10)
    assert alone.expand(OTHER) is not None
    assert alone.expand(THIRD) is None
    assert alone.shrink(10, NOW + LAG + 1) is None


def test_the_newcomer_is_waited_for_before_it_is_in() -> None:
    alone = leader(ME, end=10, high=10)
    fetched(alone, OTHER, 10, end=10)
    assert alone.expand(OTHER) is not None
    assert not alone.advance(12, NOW + 10 * LAG), "however late it is"
    assert fetched(alone, OTHER, 11, end=12)
    assert alone.high_watermark == 11


def test_an_accepted_newcomer_is_in() -> None:
    alone = leader(ME, min_insync=2, end=10, high=10)
    fetched(alone, OTHER, 10, end=10)
    pending = alone.expand(OTHER)
    assert pending is not None
    assert not alone.has_quorum, "acks=all asks for what was stored"
    assert alone.accepted(pending, 4, 1, (ME, OTHER))
    assert (alone.state.isr, alone.partition_epoch, alone.has_quorum) == ((ME, OTHER), 1, True)
    assert isinstance(alone.state, Committed)
    alone.check_invariants(10)


def test_acks_all_may_end_well_with_a_newcomer() -> None:
    """A replica that the high watermark waits for is counted for acks=all, too."""
    alone = leader(ME, min_insync=2, end=10, high=10)
    fetched(alone, OTHER, 10, end=10)
    assert alone.committed(10) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    alone.expand(OTHER)
    assert alone.committed(10) == ErrorCode.NONE


# -- leaving the ISR -------------------------------------------------------------------------------------


def test_who_has_fallen_behind_is_to_leave() -> None:
    three = leader(ME, OTHER, THIRD, end=10)
    fetched(three, OTHER, 10, end=10, now_ms=NOW + LAG)
    assert three.shrink(12, NOW + LAG) is None, "all were in sync when the epoch began"
    pending = three.shrink(12, NOW + LAG + 1)
    assert isinstance(pending, PendingShrink)
    assert (pending.leaving, pending.proposed) == ((THIRD,), (ME, OTHER))
    assert pending.maximal == (ME, OTHER, THIRD)


def test_who_has_everything_stays_however_silent() -> None:
    two = leader(ME, OTHER, end=10)
    fetched(two, OTHER, 10, end=10)
    assert two.shrink(10, NOW + 10 * LAG) is None


def test_a_follower_of_a_busy_leader_stays() -> None:
    """The follower never has everything, but each time it has all that the leader had at the time before."""
    two = leader(ME, OTHER, end=10)
    for step in range(10):
        fetched(two, OTHER, 10 + 10 * step, end=20 + 10 * step, now_ms=NOW + LAG * step)
    assert two.shrink(200, NOW + LAG * 9) is None
    assert two.shrink(200, NOW + LAG * 9 + 1) is not None


def test_who_leaves_is_waited_for_until_that_is_stored() -> None:
    two = leader(ME, OTHER, end=10, high=7)
    pending = two.shrink(10, NOW + LAG + 1)
    assert pending is not None
    assert not two.advance(10, NOW + LAG + 1)
    assert two.accepted(pending, 4, 1, (ME,))
    assert two.advance(10, NOW + LAG + 1)
    assert two.high_watermark == 10


def test_a_member_that_is_no_replica_leaves() -> None:
    two = leader(ME, OTHER, replicas=(ME, THIRD))
    pending = two.shrink(10, NOW)
    assert pending is not None
    assert pending.leaving == (OTHER,)


# -- answers of the controller ---------------------------------------------------------------------------


@pytest.mark.parametrize("error", sorted(NOT_APPLIED))
def test_what_was_not_applied_is_forgotten(error: ErrorCode) -> None:
    alone = leader(ME, end=10, high=10)
    fetched(alone, OTHER, 10, end=10)
    pending = alone.expand(OTHER)
    assert pending is not None
    assert not alone.refused(pending, error)
    assert isinstance(alone.state, Committed)
    assert alone.state.isr == (ME,)
    assert alone.expand(OTHER) is not None, "it may be proposed again"


@pytest.mark.parametrize("error", sorted(OVERTAKEN))
def test_what_was_overtaken_stays_pending(error: ErrorCode) -> None:
    two = leader(ME, OTHER)
    pending = two.shrink(10, NOW + LAG + 1)
    assert pending is not None
    assert not two.refused(pending, error)
    assert two.state is pending


@pytest.mark.parametrize("error", [ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_anything_else_is_asked_again(error: ErrorCode) -> None:
    two = leader(ME, OTHER)
    pending = two.shrink(10, NOW + LAG + 1)
    assert pending is not None
    assert two.refused(pending, error)
    assert two.state is pending


def test_old_news_change_nothing() -> None:
    two = leader(ME, OTHER)
    pending = two.shrink(10, NOW + LAG + 1)
    assert pending is not None
    assert not two.accepted(pending, 3, 1, (ME,)), "of an older leader epoch"
    assert not two.accepted(PendingShrink(Committed((ME, OTHER)), (OTHER,)), 4, 1, (ME,)), "of another change"
    two.partition_epoch = 2
    assert not two.accepted(pending, 4, 1, (ME,)), "of an older partition epoch"
    assert two.state is pending
    assert two.accepted(pending, 4, 2, (ME, OTHER)), "it may also be what it was"
    assert not two.refused(pending, ErrorCode.NOT_CONTROLLER), "it was answered"


# -- elections -------------------------------------------------------------------------------------------


def test_a_new_leader_knows_no_log_end_but_its_own() -> None:
    new = leader(ME, OTHER, end=10, high=7)
    assert [(remote.log_end_offset, remote.last_caught_up_ms) for remote in new.remotes.values()] == [
        (-1, NOW),
        (-1, 0),
    ]


def test_a_leader_that_goes_on_remembers() -> None:
    old = leader(ME, OTHER, epoch=4)
    fetched(old, OTHER, 9, end=10, start=2)
    fetched(old, THIRD, 8, end=10)
    again = leader(ME, OTHER, epoch=5, end=10, high=7, previous=old, now_ms=NOW + 5)
    other, third = again.remotes.values()
    assert (other.log_end_offset, other.log_start_offset, other.last_caught_up_ms) == (9, 2, NOW + 5)
    assert (third.log_end_offset, third.last_caught_up_ms, third.last_fetch_ms) == (8, 0, 0)
    assert again.advance(10, NOW + 5)
    assert again.high_watermark == 9


def test_a_leader_that_comes_back_after_another_forgets_what_followers_had() -> None:
    """The leader may not know of the leader in between, which the others followed and which had them
    truncated.
    """
    old = leader(ME, OTHER, epoch=4)
    fetched(old, OTHER, 9, end=10)
    again = leader(ME, OTHER, epoch=6, end=10, high=7, previous=old)
    assert again.remotes[OTHER].log_end_offset == -1
    assert not again.advance(10, NOW)
    assert again.high_watermark == 7


def test_who_is_out_of_sync_has_to_fetch_before_it_counts_as_caught_up() -> None:
    old = leader(ME, epoch=4)
    fetched(old, OTHER, 10, end=10)
    again = leader(ME, epoch=5, end=10, high=10, previous=old)
    assert again.advance(12, NOW), "it was caught up, but in another epoch"


def test_new_replicas_of_a_leader_that_goes_on_are_unknown() -> None:
    old = leader(ME, replicas=(ME,))
    again = leader(ME, replicas=(ME, OTHER), previous=old, epoch=5)
    assert again.remotes[OTHER].log_end_offset == -1


# -- the rest --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replica", "broker_epoch", "known_epoch", "refusal"),
    [
        (OTHER, 6, 4, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (OTHER, 7, 4, ErrorCode.NONE),
        (OTHER, 8, 4, ErrorCode.NONE),
        (OTHER, -1, 4, ErrorCode.NONE),
        (THIRD, 1, -1, ErrorCode.NONE),
        (9, 8, 4, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (9, 8, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_who_may_follow(replica: int, broker_epoch: int, known_epoch: int, refusal: ErrorCode) -> None:
    """A fetch must come from a broker with a replica, and not from a former process of it (KIP-903); old
    followers do not say which they are.
    """
    three = leader(ME, OTHER)
    three.fetched(OTHER, 10, 0, log_end_offset=10, now_ms=NOW, broker_epoch=7)
    assert three.refusal(replica, broker_epoch, known_epoch) == refusal


def test_the_low_watermark_is_the_smallest_log_start_of_brokers_that_live() -> None:
    cluster = Cluster()
    three = leader(ME, OTHER, THIRD, cluster=cluster)
    assert three.low_watermark(5) == -1, "nobody has said"
    fetched(three, OTHER, 10, end=10, start=5)
    fetched(three, THIRD, 10, end=10, start=3)
    assert three.low_watermark(5) == 3
    cluster.alive.remove(THIRD)
    assert three.low_watermark(5) == 5


@pytest.mark.parametrize(
    ("fetch_wait_ms", "silence_ms"),
    [
        (FETCH_WAIT, FETCH_WAIT + FETCH_GRACE_MS),
        (5_000, 5_000 + FETCH_GRACE_MS),
        (20_000, SESSION_TIMEOUT // 2),
    ],
)
def test_a_quiet_follower_counts_as_following_while_its_fetch_may_wait_and_no_other_leader_be_elected(
    fetch_wait_ms: int, silence_ms: int
) -> None:
    quiet = leader(ME, OTHER, cluster=Cluster(fetch_wait_ms))
    fetched(quiet, OTHER, 10, end=10)
    assert quiet.is_followed_lately(NOW + silence_ms)
    assert not quiet.is_followed_lately(NOW + silence_ms + 1)
