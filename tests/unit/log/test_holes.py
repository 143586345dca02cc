"""Offsets that are missing between two segments after a power cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.log.holes import cut_if_lost, cut_to_follow
from support.default_settings import log_settings

if TYPE_CHECKING:
    from kcompat.log.config import LogConfig
    from kcompat.log.log import Log

DELETED = log_settings(segment_bytes=250)
COMPACTED = log_settings(segment_bytes=250, cleanup_policy=frozenset({"compact"}))


def with_a_hole(make_harness: Any, *, recovery_point: int = 0) -> tuple[Any, Log]:
    """Segments at 0, 2, 4 and 6, of which the second has lost its last batch, at 3."""
    harness = make_harness(segment_bytes=250)
    for _ in range(7):
        harness.append()
    assert harness.log.local.segments.base_offsets == [0, 2, 4, 6]
    path = harness.directory / "00000000000000000002.log"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return harness, harness.reopen(recovery_point=recovery_point)


def test_the_log_ends_where_what_is_missing_began(make_harness: Any) -> None:
    harness, log = with_a_hole(make_harness)
    assert (log.hole, log.log_end_offset) == (3, 7)
    log.update_config(DELETED)
    cut_if_lost(log, compacted_to=0)
    assert (log.hole, log.log_end_offset) == (None, 3)
    assert harness.offsets() == [(0, 0), (1, 1), (2, 2)]
    harness.append()
    log.check_invariants()
    assert harness.reopen().hole is None


@pytest.mark.leaves_gaps("compaction may have removed what is missing")
@pytest.mark.parametrize(
    ("config", "compacted_to"), [(COMPACTED, 0), (DELETED, 4)], ids=["is compacted", "was compacted"]
)
def test_what_compaction_may_have_removed_is_not_missed(
    make_harness: Any, config: LogConfig, compacted_to: int
) -> None:
    _, log = with_a_hole(make_harness)
    log.update_config(config)
    cut_if_lost(log, compacted_to=compacted_to)
    assert (log.hole, log.log_end_offset) == (3, 7)


def test_a_follower_has_it_again_whoever_took_it(make_harness: Any) -> None:
    _, log = with_a_hole(make_harness)
    log.update_config(COMPACTED)
    cut_to_follow(log)
    assert (log.hole, log.log_end_offset) == (None, 3)


@pytest.mark.leaves_gaps("nobody has decided what becomes of it")
def test_what_is_behind_a_hole_is_not_taken_for_sound(make_harness: Any) -> None:
    _, log = with_a_hole(make_harness)
    log.flush()
    assert log.recovery_point == 3


@pytest.mark.leaves_gaps("nothing is checked there")
def test_below_the_recovery_point_nothing_is_missed(make_harness: Any) -> None:
    assert with_a_hole(make_harness, recovery_point=4)[1].hole is None
