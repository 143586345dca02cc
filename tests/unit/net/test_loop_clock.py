"""The clock of a running broker."""

from __future__ import annotations

import asyncio
import time
import weakref
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.net.loop_clock import FEW_CALLED_OFF, LoopClock
from support.virtual_loop import run_virtually

if TYPE_CHECKING:
    from support.virtual_loop import VirtualLoop


async def test_now_is_the_wall_clock() -> None:
    before = time.time() * 1000
    assert before - 1 <= LoopClock(asyncio.get_running_loop()).now_ms() <= time.time() * 1000


async def test_timers_run_once_and_can_be_cancelled() -> None:
    loop = asyncio.get_running_loop()
    clock, ran = LoopClock(loop), asyncio.Event()
    begun = loop.time()
    clock.call_later(1, lambda: ran.clear()).cancel()
    clock.call_later(20, ran.set)
    await asyncio.wait_for(ran.wait(), 10)
    assert loop.time() - begun >= 0.019


def test_each_runs_at_its_time_in_order_and_none_that_was_called_off() -> None:
    chance = Random(3)

    async def program(loop: VirtualLoop) -> tuple[list[int], list[int]]:
        clock, ran, expected = LoopClock(loop), list[int](), list[tuple[float, int]]()
        timers = {}

        def ring(number: int, due_s: float) -> None:
            assert loop.time() == pytest.approx(due_s, abs=1e-6)
            ran.append(number)

        for number in range(2000):
            delay_ms = chance.choice((0, 0.5, 5, 500, 30_000))
            due_s = loop.time() + delay_ms / 1000
            timers[number] = due_s, clock.call_later(delay_ms, partial(ring, number, due_s))
            if chance.random() < 0.5:
                other = chance.choice(sorted(timers))
                due_s, timer = timers.pop(other)
                timer.cancel()
                if other in ran:
                    expected.append((due_s, other))
            if chance.random() < 0.1:
                await asyncio.sleep(chance.choice((0, 0.001, 1)))
        await asyncio.sleep(60)
        expected += [(due_s, number) for number, (due_s, _) in timers.items()]
        return ran, [number for _, number in sorted(expected)]

    ran, expected = run_virtually(program)
    assert len(ran) > 500
    assert ran == expected


def test_one_that_sets_itself_again_lets_the_loop_go_on() -> None:
    async def program(loop: VirtualLoop) -> int:
        clock, rounds = LoopClock(loop), list[int]()

        def again() -> None:
            rounds.append(len(rounds))
            clock.call_later(0, again)

        clock.call_later(0, again)
        for _ in range(10):
            await asyncio.sleep(0)
        return len(rounds)

    assert 5 <= run_virtually(program) <= 10


def test_one_may_call_off_another_that_is_due_as_well() -> None:
    async def program(loop: VirtualLoop) -> list[str]:
        clock, ran = LoopClock(loop), list[str]()
        clock.call_later(1, lambda: other.cancel())
        other = clock.call_later(1, partial(ran.append, "the other"))
        clock.call_later(1, partial(ran.append, "the third"))
        await asyncio.sleep(1)
        return ran

    assert run_virtually(program) == ["the third"]


def test_a_fault_in_one_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ZeroDivisionError("a bug")

    async def program(loop: VirtualLoop) -> list[str]:
        clock, ran = LoopClock(loop), list[str]()
        clock.call_later(1, fail)
        clock.call_later(1, partial(ran.append, "the other"))
        clock.call_later(2, partial(ran.append, "a later one"))
        await asyncio.sleep(1)
        return ran

    assert run_virtually(program) == ["the other", "a later one"]
    assert "ZeroDivisionError: a bug" in caplog.text


def test_those_called_off_are_not_kept() -> None:
    class Something:
        pass

    async def program(loop: VirtualLoop) -> tuple[int, int]:
        clock = LoopClock(loop)
        held = [Something() for _ in range(10 * FEW_CALLED_OFF)]
        gone = [weakref.ref(each) for each in held]
        for each in held:
            clock.call_later(1000, partial(id, each)).cancel()
        del each
        held.clear()
        return sum(each() is not None for each in gone), len(clock._timers)

    kept, timers = run_virtually(program)
    assert kept == 0
    assert timers <= FEW_CALLED_OFF + 1


def test_the_loop_is_woken_for_none_that_was_called_off() -> None:
    """But for the first, that the loop has been told of."""

    async def program(loop: VirtualLoop) -> list[float]:
        clock, woken = LoopClock(loop), list[float]()
        ring = loop.call_at

        def noted(when: float, *rest: Any, **options: Any) -> asyncio.TimerHandle:
            woken.append(when)
            return ring(when, *rest, **options)

        loop.call_at = noted  # type: ignore[method-assign, assignment]
        timers = [clock.call_later(1000 + number, list) for number in range(50)]
        done = asyncio.Event()
        clock.call_later(5000, done.set)
        for timer in timers:
            timer.cancel()
        await done.wait()
        return woken

    assert run_virtually(program) == [1.0, 5.0]
