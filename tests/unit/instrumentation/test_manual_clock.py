"""A clock that is moved ahead: what rings, in which order, at which time, and how often."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from kcompat.instrumentation.manual_clock import STRIDES_PER_ELAPSED, ManualClock
from kcompat.instrumentation.outside_work import OutsideWork
from kcompat.instrumentation.quiet_loop import QuietLoop
from support.eventually import limit_s

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kcompat.clock import Timer

T = TypeVar("T")

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class Fixture:
    """A clock on a loop of its own, and the times in ms at which its timers rang, since its making."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, QuietLoop)
        self.loop = loop
        self.work = OutsideWork(loop)
        self.clock = ManualClock(loop, self.work)
        self.made_ms = self.clock.now_ms()
        self.rang: list[tuple[str, int]] = []
        self._rings = asyncio.Event()

    def ring(self, name: str) -> None:
        self.rang.append((name, self.clock.now_ms() - self.made_ms))
        self._rings.set()

    async def until_rang(self, count: int) -> None:
        while len(self.rang) < count:
            self._rings.clear()
            await self._rings.wait()

    def set(self, delay_ms: float, name: str) -> None:
        self.clock.call_later(delay_ms, partial(self.ring, name))

    def every(self, interval_ms: float, name: str) -> None:
        def again() -> None:
            self.every(interval_ms, name)
            self.ring(name)

        self.clock.call_later(interval_ms, again)

    def names(self) -> list[str]:
        return [name for name, _ in self.rang]

    def times(self, name: str) -> list[int]:
        return [at_ms for each, at_ms in self.rang if each == name]


def run(program: Callable[[Fixture], Coroutine[Any, Any, T]]) -> T:
    async def live() -> T:
        return await program(Fixture())

    with asyncio.Runner(loop_factory=QuietLoop) as runner:
        return runner.run(live())


def close_to(expected_ms: float) -> object:
    """At that time, or as much later as this machine needs to get there."""
    return pytest.approx(expected_ms, abs=limit_s(2) * 1000)


def test_it_runs_as_the_wall_clock_does() -> None:
    async def program(fixture: Fixture) -> None:
        before = time.time() * 1000
        assert before - 1 <= fixture.clock.now_ms() <= time.time() * 1000
        fixture.set(5, "soon")
        fixture.set(HOUR_MS, "later")
        await fixture.until_rang(1)
        assert fixture.names() == ["soon"]

    run(program)


def test_timers_ring_in_their_order_at_their_times() -> None:
    async def program(fixture: Fixture) -> list[tuple[str, int]]:
        delays = [8 * DAY_MS + 60_000, 7 * DAY_MS, 500, 45_000, 60_000]
        for delay_ms in delays:
            fixture.set(delay_ms, str(delay_ms))
        await fixture.clock.advance(8 * DAY_MS)
        assert fixture.clock.now_ms() - fixture.made_ms == close_to(8 * DAY_MS)
        return fixture.rang

    rang = run(program)
    assert [name for name, _ in rang] == ["500", "45000", "60000", str(7 * DAY_MS)]
    for name, at_ms in rang:
        assert at_ms >= int(name)
        assert at_ms == close_to(int(name))


def test_no_timer_finds_that_it_is_early() -> None:
    async def program(fixture: Fixture) -> int:
        chance, early = Random(5), 0

        def check(due_ms: float) -> None:
            nonlocal early
            early += fixture.clock.now_ms() < due_ms

        for _ in range(2000):
            delay_ms = chance.choice((1, 20, 3_000, 45_000, DAY_MS)) + chance.randrange(1000)
            fixture.clock.call_later(delay_ms, partial(check, fixture.clock.now_ms() + delay_ms))
        await fixture.clock.advance(2 * DAY_MS)
        return early

    assert run(program) == 0


def test_what_a_timer_causes_is_done_before_the_next_rings() -> None:
    async def program(fixture: Fixture) -> list[str]:
        def cause() -> None:
            fixture.ring("first")
            fixture.loop.call_soon(fixture.loop.call_soon, partial(fixture.ring, "its call"))
            fixture.clock.call_later(
                0, lambda: fixture.clock.call_later(0, partial(fixture.ring, "its slice"))
            )
            task = fixture.loop.create_task(work())
            task.add_done_callback(lambda _: fixture.ring("its task"))

        async def work() -> None:
            for _ in range(5):
                await asyncio.sleep(0)

        fixture.clock.call_later(1000, cause)
        fixture.set(1001, "second")
        await fixture.clock.advance(2000)
        return fixture.names()

    names = run(program)
    assert (names[0], names[-1]) == ("first", "second")
    assert sorted(names[1:-1]) == ["its call", "its slice", "its task"]


def test_what_a_timer_sets_rings_too_if_it_is_due() -> None:
    async def program(fixture: Fixture) -> None:
        fixture.clock.call_later(60_000, lambda: fixture.set(7 * DAY_MS, "a week after"))
        await fixture.clock.advance(7 * DAY_MS)
        assert fixture.names() == []
        await fixture.clock.advance(61_000)
        assert fixture.times("a week after") == [close_to(7 * DAY_MS + 60_000)]

    run(program)


def test_work_that_repeats_itself_is_done_to_the_end_but_not_too_often() -> None:
    async def program(fixture: Fixture) -> None:
        intervals = {"fast": 500, "slow": 300_000, "hourly": HOUR_MS}
        for name, interval_ms in intervals.items():
            fixture.every(interval_ms, name)
        await fixture.clock.advance(8 * DAY_MS)
        end_ms = 8 * DAY_MS
        for name, interval_ms in intervals.items():
            times = fixture.times(name)
            assert times == sorted(times)
            assert len(times) <= STRIDES_PER_ELAPSED * 20
            assert end_ms - interval_ms <= times[-1] <= end_ms + 10_000, "the last look is the newest"
            gaps = [(after - before, before) for before, after in pairwise(times)]
            assert all(
                gap <= interval_ms + before * 1.1 / STRIDES_PER_ELAPSED + 2000 for gap, before in gaps
            ), "late by that part of the time that has passed"

    run(program)


def test_a_short_advance_leaves_out_no_interval() -> None:
    async def program(fixture: Fixture) -> None:
        fixture.every(10_000, "check")
        await fixture.clock.advance(125_000)
        assert len(fixture.times("check")) == 12

    run(program)


def test_a_timer_is_called_off_by_one_that_is_due_with_it() -> None:
    async def program(fixture: Fixture) -> list[str]:
        timers: list[Timer] = []

        def cancel_all() -> None:
            for each in timers:
                each.cancel()

        fixture.clock.call_later(1000, cancel_all)
        timers += [fixture.clock.call_later(delay, partial(fixture.ring, "no")) for delay in (1000, 2000)]

        def at_once() -> None:
            fixture.clock.call_later(0, partial(fixture.ring, "no")).cancel()

        fixture.clock.call_later(1500, at_once)
        await fixture.clock.advance(10_000)
        return fixture.names()

    assert run(program) == []


def test_clients_that_come_back_each_time_do_not_hold_the_time_up() -> None:
    async def program(fixture: Fixture) -> int:
        def fetch() -> None:  # a client that sends its next request as soon as it is answered
            fixture.ring("answered")
            fixture.loop.call_soon(fixture.clock.call_later, 500, fetch)

        for _ in range(10):
            fetch()
        await fixture.clock.advance(8 * DAY_MS)
        return len(fixture.rang)

    assert run(program) <= 10 * STRIDES_PER_ELAPSED * 20


def test_an_advance_waits_for_work_outside_of_the_loop_while_timers_run() -> None:
    async def program(fixture: Fixture) -> list[str]:
        def begin() -> None:
            fixture.ring("begun")
            fixture.work.begun()
            poll(5)

        def poll(left: int) -> None:  # as a compaction is polled
            if left:
                fixture.clock.call_later(1, partial(poll, left - 1))
            else:
                fixture.ring("done")
                fixture.work.ended()

        fixture.clock.call_later(1000, begin)
        fixture.set(5000, "next")
        await fixture.clock.advance(10_000)
        return fixture.names()

    assert run(program) == ["begun", "done", "next"]


def test_an_advance_that_is_cancelled_loses_no_timer() -> None:
    async def program(fixture: Fixture) -> None:
        for delay_ms in (1000, 2000, 3000):
            fixture.set(delay_ms, str(delay_ms))
        fixture.clock.call_later(1000, fixture.work.begun)
        advance = asyncio.create_task(fixture.clock.advance(10_000))
        await fixture.until_rang(1)
        advance.cancel()
        with pytest.raises(asyncio.CancelledError):
            await advance
        fixture.work.ended()
        await fixture.clock.advance(10_000)
        assert fixture.names() == ["1000", "2000", "3000"]

    run(program)


def test_two_advances_at_once_come_one_after_the_other() -> None:
    async def program(fixture: Fixture) -> int:
        fixture.set(DAY_MS, "a day")
        await asyncio.gather(fixture.clock.advance(DAY_MS), fixture.clock.advance(DAY_MS))
        assert fixture.times("a day") == [close_to(DAY_MS)]
        return fixture.clock.now_ms() - fixture.made_ms

    assert run(program) == close_to(2 * DAY_MS)


def test_timers_go_on_in_real_time_afterwards() -> None:
    async def program(fixture: Fixture) -> None:
        fixture.set(DAY_MS + 30, "soon after")
        await fixture.clock.advance(DAY_MS)
        fixture.set(1, "new")
        await fixture.until_rang(2)

    run(program)
