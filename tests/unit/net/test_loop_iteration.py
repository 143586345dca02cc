"""Calls at the end of an iteration of the event loop."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kcompat.net.loop_iteration import ROUNDS, LoopIteration

if TYPE_CHECKING:
    from collections.abc import Callable


async def test_calls_run_in_order_at_the_end() -> None:
    iteration, ran = LoopIteration(asyncio.get_running_loop()), list[str]()
    iteration.begin()
    iteration.call_soon(partial(ran.append, "first"))
    iteration.call_soon(partial(ran.append, "second"))
    assert not ran
    iteration.end()
    assert ran == ["first", "second"]


async def test_answers_come_before_calls() -> None:
    iteration, ran = LoopIteration(asyncio.get_running_loop()), list[str]()
    iteration.begin()
    iteration.call_soon(partial(ran.append, "markers"))
    iteration.answer_soon(partial(ran.append, "EndTxn"))
    iteration.end()
    assert ran == ["EndTxn", "markers"]


async def test_what_a_call_answers_comes_before_the_next_call() -> None:
    iteration, ran = LoopIteration(asyncio.get_running_loop()), list[str]()
    iteration.begin()
    for name in ("first", "second"):
        iteration.call_soon(partial(iteration.answer_soon, partial(ran.append, f"answer of the {name}")))
        iteration.call_soon(partial(ran.append, f"behind the {name}"))
    iteration.end()
    assert ran == ["answer of the first", "behind the first", "answer of the second", "behind the second"]


@pytest.mark.parametrize("soon", [LoopIteration.call_soon, LoopIteration.answer_soon])
async def test_what_a_call_or_an_answer_adds_runs_at_the_same_end(
    soon: Callable[[LoopIteration, Callable[[], object]], None],
) -> None:
    iteration, ran = LoopIteration(asyncio.get_running_loop()), list[str]()
    iteration.begin()
    soon(iteration, lambda: soon(iteration, partial(ran.append, "a wake's answer")))
    iteration.end()
    assert ran == ["a wake's answer"]


async def test_outside_an_iteration_the_loop_calls() -> None:
    iteration, ran = LoopIteration(asyncio.get_running_loop()), asyncio.Event()
    answered = asyncio.Event()
    iteration.call_soon(ran.set)
    iteration.answer_soon(answered.set)
    assert not ran.is_set()
    assert not answered.is_set()
    await ran.wait()
    await answered.wait()


async def test_calls_that_call_for_each_other_let_the_loop_go_on() -> None:
    iteration, ran, enough = LoopIteration(asyncio.get_running_loop()), list[int](), asyncio.Event()

    def again() -> None:
        ran.append(len(ran))
        if len(ran) < 2 * ROUNDS:
            iteration.call_soon(again)
        else:
            enough.set()

    iteration.begin()
    iteration.call_soon(again)
    iteration.end()
    assert len(ran) == ROUNDS
    await enough.wait()


async def test_a_fault_in_one_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    iteration, ran = LoopIteration(asyncio.get_running_loop()), list[str]()

    def fail() -> None:
        raise ZeroDivisionError("a bug")

    iteration.begin()
    iteration.call_soon(fail)
    iteration.call_soon(partial(ran.append, "the other"))
    iteration.end()
    assert ran == ["the other"]
    assert "ZeroDivisionError: a bug" in caplog.text
