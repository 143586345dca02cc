"""Chores are done when they are due, go on after one that fails, and end with a stop."""

from __future__ import annotations

from functools import partial

import pytest

from kcompat.node.housekeeping import NEVER_MS, Chore, Housekeeping
from support.virtual_clock import VirtualClock


class Diary:
    """A record of the chores that were run, and when."""

    def __init__(self, *chores: tuple[str, int, int | None]) -> None:
        self.clock = VirtualClock(0)
        self.done: list[tuple[str, int]] = []
        self.housekeeping = Housekeeping(
            self.clock,
            [Chore(name, interval_ms, partial(self._did, name), first_ms)
             for name, interval_ms, first_ms in chores],
        )  # fmt: skip
        self.housekeeping.start()

    def _did(self, name: str) -> None:
        self.done.append((name, self.clock.now_ms()))


def test_each_chore_keeps_its_own_interval() -> None:
    diary = Diary(("often", 10, None), ("seldom", 25, None))
    diary.clock.advance(50)
    assert [ms for name, ms in diary.done if name == "often"] == [10, 20, 30, 40, 50]
    assert [ms for name, ms in diary.done if name == "seldom"] == [25, 50]


def test_the_first_time_may_be_another() -> None:
    diary = Diary(("late", 10, 35))
    diary.clock.advance(50)
    assert diary.done == [("late", 35), ("late", 45)]


def test_an_interval_of_years_is_never() -> None:
    diary = Diary(("never", NEVER_MS, 1))
    diary.clock.advance(50)
    assert diary.clock.pending == 0
    assert diary.done == []


def test_a_stop_ends_them_all() -> None:
    diary = Diary(("often", 10, None))
    diary.clock.advance(10)
    diary.housekeeping.stop()
    diary.clock.advance(50)
    assert diary.done == [("often", 10)]
    assert diary.clock.pending == 0


def test_one_that_fails_is_tried_again() -> None:
    clock, tries = VirtualClock(0), []

    def fail() -> None:
        tries.append(clock.now_ms())
        raise RuntimeError("a bug")

    Housekeeping(clock, [Chore("fails", 10, fail)]).start()
    for _ in range(2):
        with pytest.raises(RuntimeError):
            clock.advance(10)
    assert tries == [10, 20]
