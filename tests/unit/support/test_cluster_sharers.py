"""Faults that the rules find in the records that members of a share group got and acknowledged."""

from __future__ import annotations

import pytest

from support.cluster_sharers import Shared
from support.guarded_store import ViolationError

PLACE = ("topic", 0)


def test_what_nobody_was_handed_is_missing() -> None:
    shared = Shared()
    shared.hand(PLACE, 3, range(2))
    shared.hand(PLACE, None, range(3, 4))
    assert shared.missing(PLACE, 6) == [2, 4, 5]
    assert shared.missing(("topic", 1), 1) == [0]


def test_records_come_again_until_they_are_done_with() -> None:
    shared = Shared()
    shared.hand(PLACE, 3, range(4))
    shared.hand(PLACE, 3, range(4))
    shared.finish(PLACE, 3, range(2))
    shared.hand(PLACE, 3, range(2, 4))


@pytest.mark.parametrize("epoch", [3, 4])
def test_what_is_done_with_comes_from_no_leader_that_can_know(epoch: int) -> None:
    shared = Shared()
    shared.finish(PLACE, 3, range(2))
    with pytest.raises(ViolationError, match="done with"):
        shared.hand(PLACE, epoch, range(1, 3))


@pytest.mark.parametrize("epoch", [2, None])
def test_a_former_leader_does_not_know(epoch: int | None) -> None:
    shared = Shared()
    shared.finish(PLACE, 3, range(2))
    shared.finish(PLACE, 5, range(2))
    shared.hand(PLACE, epoch, range(1, 3))
