"""The threads beside the loop: order, outcomes, and that a stop leaves nothing behind."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kcompat.net.helpers import Helpers, Lane
from kcompat.worker import ThreadWorker
from support.eventually import limit_s
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.promise import Promise

TIMEOUT_S = 10


class Notified(VirtualClock):
    """Says when a thread has called."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = threading.Semaphore(0)

    def call_from_thread(self, callback: Callable[[], object]) -> None:
        super().call_from_thread(callback)
        self._calls.release()

    def settle(self, count: int = 1) -> None:
        """Wait for so many calls and run them."""
        for _ in range(count):
            assert self._calls.acquire(timeout=limit_s(TIMEOUT_S))
        self.advance()


@pytest.fixture
def clock() -> Notified:
    return Notified()


@pytest.fixture
def helpers(clock: Notified) -> Iterator[Helpers]:
    helpers = Helpers(clock, ThreadWorker)
    yield helpers
    helpers.close()


def threads() -> set[str]:
    return {each.name for each in threading.enumerate() if each.name.startswith("kcompat-")}


def test_the_outcome_comes_where_timers_run(helpers: Helpers, clock: Notified) -> None:
    promise = helpers.run(Lane.SHORT, lambda: threading.current_thread() is threading.main_thread())
    assert not promise.done
    clock.settle()
    assert promise.value is False


def test_a_lane_keeps_its_order(helpers: Helpers, clock: Notified) -> None:
    done: list[int] = []
    for number in range(20):
        helpers.run(Lane.SHORT, partial(done.append, number))
    clock.settle(20)
    assert done == list(range(20))


def test_long_work_keeps_no_short_work_waiting(helpers: Helpers, clock: Notified) -> None:
    gate = threading.Event()
    long = helpers.run(Lane.LONG, lambda: gate.wait(TIMEOUT_S))
    short = helpers.run(Lane.SHORT, lambda: "short")
    clock.settle()
    assert (short.value, long.done) == ("short", False)
    gate.set()
    clock.settle()
    assert long.value is True


def test_what_work_raises_is_its_failure(helpers: Helpers, clock: Notified) -> None:
    promise: Promise[object] = helpers.run(Lane.LONG, lambda: 1 // 0)
    clock.settle()
    with pytest.raises(ZeroDivisionError):
        _ = promise.value
    again = helpers.run(Lane.LONG, lambda: 2)
    clock.settle()
    assert again.value == 2


def test_threads_start_with_work_and_end_with_close(clock: Notified) -> None:
    before = threads()
    helpers = Helpers(clock, ThreadWorker)
    assert threads() == before
    helpers.run(Lane.SHORT, lambda: None)
    assert len(threads() - before) == 1
    helpers.run(Lane.LONG, lambda: None)
    assert len(threads() - before) == 2
    helpers.close()
    assert threads() == before


def test_close_waits_for_what_is_begun_and_drops_the_rest(clock: Notified) -> None:
    helpers = Helpers(clock, ThreadWorker)
    begun, gate = threading.Event(), threading.Event()
    ran: list[str] = []

    def first() -> None:
        begun.set()
        gate.wait(TIMEOUT_S)
        ran.append("first")

    promises = [helpers.run(Lane.LONG, first), helpers.run(Lane.LONG, lambda: ran.append("second"))]
    assert begun.wait(TIMEOUT_S)
    threading.Timer(0.05, gate.set).start()
    helpers.close()
    clock.advance()
    assert ran == ["first"]
    assert not any(promise.done for promise in promises)
