"""Time that moves only when told to."""

from __future__ import annotations

import pytest

from support.virtual_clock import VirtualClock


def test_timers_run_in_order_of_time_then_of_making() -> None:
    clock, ran = VirtualClock(1000), list[object]()
    clock.call_later(30, lambda: ran.append(("c", clock.now_ms())))
    clock.call_later(10, lambda: ran.append(("a", clock.now_ms())))
    clock.call_later(10, lambda: ran.append(("b", clock.now_ms())))
    clock.call_later(31, lambda: ran.append(("d", clock.now_ms())))
    assert clock.next_due_ms() == 1010
    clock.advance(30)
    assert ran == [("a", 1010), ("b", 1010), ("c", 1030)]
    assert (clock.now_ms(), clock.pending) == (1030, 1)


def test_nothing_runs_outside_advance() -> None:
    clock, ran = VirtualClock(), list[object]()
    clock.call_later(0, lambda: ran.append(1))
    clock.call_later(-5, lambda: ran.append(2))
    assert ran == []
    clock.advance()
    assert ran == [1, 2]


def test_timers_made_by_timers_run_if_they_are_due() -> None:
    clock, ran = VirtualClock(0), list[object]()
    clock.call_later(10, lambda: clock.call_later(10, lambda: ran.append(clock.now_ms())))
    clock.call_later(10, lambda: clock.call_later(50, lambda: ran.append(clock.now_ms())))
    clock.advance(30)
    assert ran == [20]
    clock.advance(30)
    assert ran == [20, 60]


def test_cancelled_timers_do_not_run() -> None:
    clock, ran = VirtualClock(), list[object]()
    first = clock.call_later(10, lambda: ran.append(1))
    second = clock.call_later(10, lambda: ran.append(2))
    first.cancel()
    assert clock.pending == 1
    clock.advance(10)
    second.cancel()
    assert ran == [2]
    assert clock.next_due_ms() is None


def test_time_does_not_go_back() -> None:
    with pytest.raises(AssertionError):
        VirtualClock().advance(-1)
