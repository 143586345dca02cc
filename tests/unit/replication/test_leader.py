"""The machine that a leader is: what is committed, given who is in sync and how far its own log is."""

from __future__ import annotations

import pytest

from kcompat.cluster.news import Role
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.leader import Leader

ME, OTHER, THIRD = 1, 2, 3


def leader(
    *isr: int,
    replicas: tuple[int, ...] = (ME, OTHER, THIRD),
    min_insync: int = 1,
    end: int = 10,
    high: int = 7,
) -> Leader:
    """In epoch 4, with a log that ends at `end`."""
    role = Role(ME, 4, isr, replicas)
    return Leader(ME, role, min_insync_replicas=min_insync, log_end_offset=end, high_watermark=high)


def test_who_is_in_sync_with_nobody_else_commits_at_once() -> None:
    alone = leader(ME)
    assert alone.high_watermark == 7
    assert alone.advance(10)
    assert alone.advance(12)
    assert alone.high_watermark == 12
    alone.check_invariants(12)


def test_the_high_watermark_never_falls() -> None:
    alone = leader(ME)
    assert not alone.advance(6)
    assert not alone.advance(7)
    assert alone.high_watermark == 7


@pytest.mark.parametrize("isr", [(ME, OTHER), (OTHER, ME), (ME, OTHER, THIRD), (OTHER,), ()])
def test_the_ends_of_others_are_not_known_so_nothing_moves(isr: tuple[int, ...]) -> None:
    among_others = leader(*isr)
    assert not among_others.advance(12)
    assert among_others.high_watermark == 7
    assert among_others.committed(8) is None
    among_others.check_invariants(12)


def test_it_moves_when_the_others_are_gone() -> None:
    among_others = leader(ME, OTHER)
    among_others.advance(12)
    among_others.change(Role(ME, 4, (ME,), (ME, OTHER, THIRD), partition_epoch=1))
    assert among_others.high_watermark == 7, "the log end is not told twice"
    assert among_others.advance(12)
    assert among_others.high_watermark == 12


def test_nothing_moves_below_min_insync_replicas() -> None:
    """KIP-966; what was committed before stays so, but no wait for more replicas ends well."""
    alone = leader(ME, min_insync=2)
    assert not alone.has_quorum
    assert not alone.advance(12)
    assert alone.committed(7) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert alone.committed(8) is None
    alone.require_in_sync(1)
    assert alone.has_quorum
    assert alone.advance(12)
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
    new.advance(9)
    assert not new.knows_latest_offset
    new.advance(10)
    assert new.knows_latest_offset


def test_another_epoch_is_another_leader() -> None:
    with pytest.raises(AssertionError):
        leader(ME).change(Role(ME, 5, (ME,), (ME,)))
