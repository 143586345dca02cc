"""Delayed operations that raise: their own request fails, and nobody else waits for it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kcompat.net.loop_clock import LoopClock
from kcompat.net.loop_iteration import LoopIteration
from kcompat.replication.purgatory import Purgatory
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kcompat.replication.purgatory import Delayed


class Ready:
    """Is answered by the first event."""

    def try_complete(self, key: Hashable) -> str | None:
        return f"woken by {key}"

    def expire(self) -> str:
        return "expired"


class Broken:
    """Has a bug."""

    def try_complete(self, key: Hashable) -> str | None:
        raise ZeroDivisionError(str(key))

    def expire(self) -> str:
        raise ZeroDivisionError("expired")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def purgatory(clock: VirtualClock) -> Purgatory:
    return Purgatory(clock)


def failure(delayed: Delayed[str]) -> str:
    with pytest.raises(ZeroDivisionError) as raised:
        _ = delayed.promise.value
    return str(raised.value)


def test_an_operation_that_raises_fails_and_leaves_and_the_others_of_its_key_are_woken(
    purgatory: Purgatory, clock: VirtualClock
) -> None:
    before = purgatory.wait(Ready(), ["a"], 1000)
    broken = purgatory.wait(Broken(), ["a", "b"], 1000)
    behind = purgatory.wait(Ready(), ["a"], 1000)
    purgatory.wake("a")
    assert (before.promise.value, behind.promise.value) == ("woken by a", "woken by a")
    assert failure(broken) == "a"
    assert (len(purgatory), clock.pending) == (0, 0)
    purgatory.wake("b")


def test_all_keys_are_woken_though_an_operation_of_the_first_raises(
    purgatory: Purgatory, clock: VirtualClock
) -> None:
    broken = purgatory.wait(Broken(), ["a"], None)
    other = purgatory.wait(Ready(), ["b"], None)
    purgatory.wake_soon("a")
    purgatory.wake_soon("b")
    clock.advance()
    assert failure(broken) == "a"
    assert other.promise.value == "woken by b"


def test_all_keys_are_woken_though_an_answer_raises(
    purgatory: Purgatory, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = purgatory.wait(Ready(), ["a"], None), purgatory.wait(Ready(), ["b"], None)
    first.promise.then(lambda _: 1 // 0)
    purgatory.wake_soon("a")
    purgatory.wake_soon("b")
    clock.advance()
    assert second.promise.value == "woken by b"
    assert "ZeroDivisionError" in caplog.text


async def test_the_first_is_answered_before_the_next_is_asked() -> None:
    """And is woken by no further key."""
    told: list[str] = []

    class Telling:
        def __init__(self, name: str) -> None:
            self.name = name

        def try_complete(self, key: Hashable) -> str | None:
            told.append(f"{self.name} sees {key}")
            return self.name if self.name == key else None

        def expire(self) -> str:
            return "expired"

    loop = asyncio.get_running_loop()
    iteration = LoopIteration(loop)
    purgatory = Purgatory(LoopClock(loop, iteration))
    iteration.begin()
    for name in ("b", "c"):
        waiting = purgatory.wait(Telling(name), ["a", "b", "c"], None)
        waiting.promise.then(lambda name: iteration.answer_soon(partial(told.append, f"{name} is answered")))
    for key in ("a", "b", "c"):
        purgatory.wake_soon(key)
    iteration.end()
    assert told == [
        "b sees a",
        "b sees b",
        "b is answered",
        "c sees a",
        "c sees b",
        "c sees c",
        "c is answered",
    ]


def test_a_deadline_that_raises_fails_its_own_operation(purgatory: Purgatory, clock: VirtualClock) -> None:
    broken = purgatory.wait(Broken(), ["a"], 1000)
    other = purgatory.wait(Ready(), ["a"], 1000)
    clock.advance(1000)
    assert failure(broken) == "expired"
    assert other.promise.value == "expired"
    assert len(purgatory) == 0
