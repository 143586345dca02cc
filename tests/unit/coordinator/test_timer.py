"""The keyed timers of a shard."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.coordinator.timer import KeyedTimers
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from kcompat.coordinator.operation import Result, ShardOperation


def operation(name: str) -> ShardOperation[Any, None]:
    def run(_shard: Any, _now_ms: int) -> Result[None]:
        raise AssertionError(name)

    run.__name__ = name
    return run


def marked(hurried: ShardOperation[Any, None]) -> ShardOperation[Any, None]:
    return operation(f"{hurried.__name__}, hurried")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
def timers(clock: VirtualClock, ran: list[str]) -> KeyedTimers:
    return KeyedTimers(clock, lambda operation: ran.append(operation.__name__))


def test_runs_its_operation_when_due(timers: KeyedTimers, clock: VirtualClock, ran: list[str]) -> None:
    timers.schedule("key", 100, operation("due"))
    clock.advance(99)
    assert ran == []
    clock.advance(1)
    assert ran == ["due"]
    assert clock.pending == 0


def test_setting_a_key_again_replaces_its_timer(
    timers: KeyedTimers, clock: VirtualClock, ran: list[str]
) -> None:
    timers.schedule("key", 100, operation("first"))
    clock.advance(60)
    timers.schedule("key", 100, operation("second"))
    clock.advance(60)
    assert ran == []
    clock.advance(40)
    assert ran == ["second"]


def test_cancelled_timers_do_not_run(timers: KeyedTimers, clock: VirtualClock, ran: list[str]) -> None:
    timers.schedule("a", 100, operation("a"))
    timers.schedule("b", 100, operation("b"))
    timers.cancel("a")
    timers.cancel("never set")
    assert clock.pending == 1
    timers.cancel_all()
    clock.advance(1000)
    assert ran == []
    assert clock.pending == 0


def test_a_hurried_timer_has_a_share_of_its_delay_left(
    timers: KeyedTimers, clock: VirtualClock, ran: list[str]
) -> None:
    timers.hurry("never set", 0.3, marked)
    timers.schedule("key", 100, operation("due"))
    clock.advance(10)
    timers.hurry("key", 0.3, marked)
    clock.advance(29)
    assert ran == []
    clock.advance(1)
    assert ran == ["due, hurried"]
    assert clock.pending == 0


def test_no_timer_is_late_for_being_hurried(timers: KeyedTimers, clock: VirtualClock, ran: list[str]) -> None:
    timers.schedule("key", 100, operation("due"))
    clock.advance(90)
    timers.hurry("key", 0.3, marked)
    clock.advance(10)
    assert ran == ["due"]


def test_a_timer_can_be_due_at_once(timers: KeyedTimers, clock: VirtualClock, ran: list[str]) -> None:
    timers.schedule("key", 100, operation("due"))
    assert timers.expire("key", marked)
    assert ran == ["due, hurried"]
    assert not timers.expire("key", marked)
    clock.advance(100)
    assert ran == ["due, hurried"]


def test_timers_that_are_not_called_off_go_with_their_shard() -> None:
    """Whose operations mostly hold it."""

    def begin() -> weakref.ref[object]:
        timers = KeyedTimers(VirtualClock(), lambda _: None)

        def run(_shard: Any, _now_ms: int) -> Result[None]:
            raise AssertionError(timers)

        timers.schedule("key", 100, run)
        return weakref.ref(run)

    begun = begin()
    gc.collect()
    assert begun() is None
