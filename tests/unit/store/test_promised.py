"""Tasks with promises."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kcompat.store.promised import PromisedTasks
from support.controllers import answer

if TYPE_CHECKING:
    from kcompat.promise import Promise


async def value_of(value: int) -> int:
    """Return a value one step of the loop later."""
    await asyncio.sleep(0)
    return value


async def fault() -> None:
    """Raise a ValueError, as a task that fails does."""
    raise ValueError("no value")


async def test_a_promise_has_the_result_or_the_failure_of_its_task() -> None:
    tasks = PromisedTasks("test")
    first, second, failed = tasks.run(value_of(1)), tasks.run(value_of(2)), tasks.run(fault())
    assert (await answer(first), await answer(second)) == (1, 2)
    with pytest.raises(ValueError, match="no value"):
        await answer(failed)


async def test_the_owner_stops_them_and_nothing_is_promised_any_more() -> None:
    tasks, never = PromisedTasks("test"), asyncio.Event()
    told: list[object] = []
    waiting: Promise[bool] = tasks.run(never.wait())
    waiting.then(told.append, told.append)
    await tasks.stop()
    never.set()
    await asyncio.sleep(0)
    assert not told
    assert not waiting.done
