"""When the loop looks again before it sleeps."""

from __future__ import annotations

import asyncio
import selectors
import socket
from typing import TYPE_CHECKING

import pytest

from kcompat.net.spinning import MOST_PASSED_OVER, SHORT_S, SPIN_S, Spin, SpinningSelector, spinning_loop
from support.current import current

if TYPE_CHECKING:
    from collections.abc import Callable


def passed_over(spin: Spin) -> int:
    """How many short sleeps it takes until it looks again."""
    count = 0
    while not spin.is_worth_it:
        spin.slept(SHORT_S)
        count += 1
    return count


def test_it_looks_again_after_a_short_sleep_and_not_after_a_long_one() -> None:
    spin = Spin()
    assert not current(spin.is_worth_it)
    spin.slept(SHORT_S)
    assert current(spin.is_worth_it)
    spin.found()
    assert current(spin.is_worth_it)
    spin.slept(SHORT_S * 1.01)
    assert not current(spin.is_worth_it)


def test_where_it_is_in_vain_it_is_tried_ever_more_rarely() -> None:
    spin = Spin()
    spin.slept(0)
    counts = []
    for _ in range(12):
        spin.found_nothing()
        spin.slept(SPIN_S)
        counts.append(passed_over(spin))
    assert counts == [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, MOST_PASSED_OVER, MOST_PASSED_OVER]


def test_each_time_it_was_not_in_vain_halves_that() -> None:
    spin = Spin()
    for _ in range(4):
        spin.found_nothing()
    for _ in range(2):
        spin.found()
    spin.found_nothing()
    assert passed_over(spin) == 1 + 7


def test_a_long_sleep_counts_for_nothing() -> None:
    spin = Spin()
    spin.found_nothing()
    spin.found_nothing()
    for _ in range(9):
        spin.slept(1)
        assert not current(spin.is_worth_it)
    assert passed_over(spin) == 1 + 3


class Clock:
    """Time goes on by 10 us whenever somebody looks; `then` happens at the time that it is set for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.looked = 0
        self.at: float | None = None
        self.then: Callable[[], object] = lambda: None

    def __call__(self) -> float:
        self.looked += 1
        self.now += 10e-6
        if self.at is not None and self.now >= self.at:
            self.at = None
            self.then()
        return self.now


class Watching:
    """A selector with one socket, to whose other end something can be sent."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.selector = SpinningSelector(self.clock)
        self._ours, self._theirs = socket.socketpair()
        self.selector.register(self._ours, selectors.EVENT_READ)

    def send(self) -> None:
        self._theirs.send(b"x")

    def select(self, timeout: float | None) -> int:
        """How many times it looked at the clock; what has come is received."""
        before = self.clock.looked
        if self.selector.select(timeout):
            self._ours.recv(1)
        return self.clock.looked - before

    def close(self) -> None:
        self.selector.close()
        self._ours.close()
        self._theirs.close()


@pytest.fixture
def watching() -> Watching:
    return Watching()


ONLY_SLEEPS = 2
"""Looks at the clock: before and after."""


def test_what_comes_while_it_looks_is_found_without_sleeping(watching: Watching) -> None:
    watching.send()
    assert watching.select(1) == ONLY_SLEEPS
    clock = watching.clock
    clock.at, clock.then = clock.now + 25e-6, watching.send
    assert watching.select(None) > ONLY_SLEEPS
    assert current(clock.at) is None
    watching.close()


def test_what_is_found_late_came_while_another_had_the_processor(watching: Watching) -> None:
    watching.send()
    watching.select(None)
    clock = watching.clock

    def give_way() -> None:
        clock.now += 0.003
        watching.send()

    clock.at, clock.then = clock.now + 15e-6, give_way
    watching.select(None)
    assert current(clock.at) is None
    assert watching.select(0.001) == ONLY_SLEEPS
    watching.close()


def test_nothing_waits_for_it(watching: Watching) -> None:
    """Callbacks are due at once, timers soon: the loop says how long it may wait."""
    watching.send()
    watching.select(None)
    assert watching.select(0) == 0
    assert watching.select(-1) == 0
    assert watching.select(SPIN_S) == ONLY_SLEEPS
    watching.close()


def test_it_sleeps_after_it_has_looked_in_vain_and_then_does_not_look(watching: Watching) -> None:
    watching.send()
    watching.select(None)
    assert watching.select(0.001) > ONLY_SLEEPS
    assert watching.select(0.001) == ONLY_SLEEPS  # its sleep was short, but the last look was in vain
    assert watching.select(0.001) > ONLY_SLEEPS
    watching.close()


def test_a_loop_of_this_kind_runs() -> None:
    async def wait() -> str:
        await asyncio.sleep(0.001)
        return "done"

    with asyncio.Runner(loop_factory=spinning_loop) as runner:
        assert runner.run(wait()) == "done"
