"""An event loop that tells when it has nothing to do."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from kcompat.instrumentation.quiet_loop import QuietLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


def run(program: Callable[[QuietLoop], Coroutine[Any, Any, T]]) -> T:
    async def live() -> T:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, QuietLoop)
        return await program(loop)

    with asyncio.Runner(loop_factory=QuietLoop) as runner:
        return runner.run(live())


def test_it_is_quiet_once_calls_that_make_calls_are_done() -> None:
    async def program(loop: QuietLoop) -> int:
        calls = 0

        def again() -> None:
            nonlocal calls
            calls += 1
            if calls < 20:
                loop.call_soon(again)

        again()
        await loop.until_quiet(1000)
        return calls

    assert run(program) == 20


def test_it_waits_for_bytes_that_are_on_their_way_to_and_fro() -> None:
    async def program(loop: QuietLoop) -> int:
        ends = socket.socketpair()
        bounces = 0

        def bounce(end: socket.socket) -> None:
            nonlocal bounces
            end.recv(1)
            bounces += 1
            if bounces < 20:
                end.send(b".")

        for end in ends:
            loop.add_reader(end, bounce, end)
        ends[0].send(b".")
        await loop.until_quiet(1000)
        for end in ends:
            loop.remove_reader(end)
            end.close()
        return bounces

    assert run(program) == 20


def test_a_timer_that_is_not_due_does_not_keep_it_busy() -> None:
    async def program(loop: QuietLoop) -> bool:
        timer = loop.call_later(3600, print)
        await loop.until_quiet(1000)
        timer.cancel()
        return True

    assert run(program)


def test_a_loop_that_is_never_quiet_is_waited_for_by_iterations() -> None:
    async def program(loop: QuietLoop) -> int:
        calls = 0

        def for_ever() -> None:
            nonlocal calls
            calls += 1
            loop.call_soon(for_ever)

        for_ever()
        await loop.until_quiet(10)
        return calls

    assert 9 <= run(program) <= 12


def test_after_a_wait_that_was_cancelled_another_one_is_possible() -> None:
    async def program(loop: QuietLoop) -> None:
        waiting = asyncio.create_task(loop.until_quiet(1000))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await loop.until_quiet(1000)

    run(program)
