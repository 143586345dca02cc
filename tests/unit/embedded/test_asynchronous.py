"""`async with` starts and stops in a thread, and leaves nothing running when it is cancelled."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Self

import pytest

from kcompat.embedded.asynchronous import AsyncContext


class Slow(AsyncContext):
    """A context whose start ends when the test lets it."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.called: list[str] = []
        self.begun, self.may_end = asyncio.Event(), threading.Event()
        self._loop = asyncio.get_running_loop()
        self._fault = fault

    def start(self) -> Self:
        self._loop.call_soon_threadsafe(self.begun.set)
        self.may_end.wait()
        if self._fault is not None:
            raise self._fault
        self.called.append("start")
        return self

    def stop(self) -> None:
        self.called.append("stop")

    async def use(self) -> None:
        async with self:
            self.called.append("block")


async def test_the_loop_goes_on_while_it_starts() -> None:
    slow = Slow()
    using = asyncio.create_task(slow.use())
    await slow.begun.wait()
    slow.may_end.set()
    await using
    assert slow.called == ["start", "block", "stop"]


@pytest.mark.parametrize("fault", [None, ValueError("a fault of the start")])
async def test_a_start_that_is_cancelled_is_undone_first(fault: Exception | None) -> None:
    slow = Slow(fault)
    using = asyncio.create_task(slow.use())
    await slow.begun.wait()
    for _ in range(2):
        using.cancel()
        await asyncio.sleep(0)
    assert not using.done()
    slow.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await using
    assert slow.called == (["start", "stop"] if fault is None else ["stop"])


async def test_the_error_of_a_start_is_raised() -> None:
    slow = Slow(ValueError("a fault of the start"))
    slow.may_end.set()
    with pytest.raises(ValueError, match="a fault of the start"):
        await slow.use()
    assert slow.called == []


async def test_it_is_stopped_after_an_error_in_the_block() -> None:
    slow = Slow()
    slow.may_end.set()
    with suppress(KeyError):
        async with slow:
            raise KeyError
    assert slow.called == ["start", "stop"]
