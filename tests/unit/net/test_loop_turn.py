"""What is done at the end of a turn."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kcompat.net.loop_turn import ROUNDS, LoopTurn

if TYPE_CHECKING:
    from collections.abc import Callable


async def test_calls_run_in_order_at_the_end() -> None:
    turn, ran = LoopTurn(asyncio.get_running_loop()), list[str]()
    turn.begin()
    turn.call_soon(partial(ran.append, "first"))
    turn.call_soon(partial(ran.append, "second"))
    assert not ran
    turn.end()
    assert ran == ["first", "second"]


async def test_answers_come_before_calls() -> None:
    turn, ran = LoopTurn(asyncio.get_running_loop()), list[str]()
    turn.begin()
    turn.call_soon(partial(ran.append, "markers"))
    turn.answer_soon(partial(ran.append, "EndTxn"))
    turn.end()
    assert ran == ["EndTxn", "markers"]


async def test_what_a_call_answers_comes_before_the_next_call() -> None:
    turn, ran = LoopTurn(asyncio.get_running_loop()), list[str]()
    turn.begin()
    for name in ("first", "second"):
        turn.call_soon(partial(turn.answer_soon, partial(ran.append, f"answer of the {name}")))
        turn.call_soon(partial(ran.append, f"behind the {name}"))
    turn.end()
    assert ran == ["answer of the first", "behind the first", "answer of the second", "behind the second"]


@pytest.mark.parametrize("soon", [LoopTurn.call_soon, LoopTurn.answer_soon])
async def test_what_a_call_or_an_answer_adds_runs_at_the_same_end(
    soon: Callable[[LoopTurn, Callable[[], object]], None],
) -> None:
    turn, ran = LoopTurn(asyncio.get_running_loop()), list[str]()
    turn.begin()
    soon(turn, lambda: soon(turn, partial(ran.append, "a wake's answer")))
    turn.end()
    assert ran == ["a wake's answer"]


async def test_where_no_turn_is_on_the_loop_calls() -> None:
    turn, ran = LoopTurn(asyncio.get_running_loop()), asyncio.Event()
    answered = asyncio.Event()
    turn.call_soon(ran.set)
    turn.answer_soon(answered.set)
    assert not ran.is_set()
    assert not answered.is_set()
    await ran.wait()
    await answered.wait()


async def test_calls_that_call_for_each_other_let_the_loop_go_on() -> None:
    turn, ran, enough = LoopTurn(asyncio.get_running_loop()), list[int](), asyncio.Event()

    def again() -> None:
        ran.append(len(ran))
        if len(ran) < 2 * ROUNDS:
            turn.call_soon(again)
        else:
            enough.set()

    turn.begin()
    turn.call_soon(again)
    turn.end()
    assert len(ran) == ROUNDS
    await enough.wait()


async def test_a_fault_in_one_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    turn, ran = LoopTurn(asyncio.get_running_loop()), list[str]()

    def fail() -> None:
        raise ZeroDivisionError("a bug")

    turn.begin()
    turn.call_soon(fail)
    turn.call_soon(partial(ran.append, "the other"))
    turn.end()
    assert ran == ["the other"]
    assert "ZeroDivisionError: a bug" in caplog.text
