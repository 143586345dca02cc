from __future__ import annotations

import asyncio
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.embedded.thread import LoopThread, patience
from kcompat.errors import UsageError
from support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


def test_a_function_that_the_thread_calls_is_told_that_it_would_wait_for_itself() -> None:
    thread = LoopThread()
    try:
        with pytest.raises(UsageError, match="a function that a broker calls cannot call the broker"):
            thread.do(lambda: thread.do(lambda: None))
        assert thread.do(lambda: 1) == 1
    finally:
        thread.close()


def test_a_call_that_the_end_of_the_thread_cuts_off_is_told_so() -> None:
    thread = LoopThread(tidy_timeout_s=0)
    with ThreadPoolExecutor(1) as callers:
        waiting = callers.submit(thread.call, asyncio.sleep(3600))
        thread.do(lambda: None)  # behind the call
        thread.close()
        with pytest.raises(UsageError, match="the broker was stopped meanwhile"):
            waiting.result()
    with pytest.raises(UsageError, match="the broker was stopped meanwhile"):
        thread.do(lambda: None)


def test_calls_within_a_patience_end_with_it() -> None:
    thread = LoopThread()
    try:
        with patience(0), pytest.raises(TimeoutError):
            thread.call(asyncio.sleep(3600))
        assert thread.do(lambda: 1) == 1
    finally:
        thread.close()


def test_an_interrupted_start_leaves_no_thread() -> None:
    handled = threading.Event()

    def interrupt(_signal: int, _frame: object) -> None:
        handled.set()
        raise KeyboardInterrupt

    def loop_of_the_interrupted() -> asyncio.AbstractEventLoop:
        signal.pthread_kill(main, signal.SIGINT)
        handled.wait()
        return asyncio.new_event_loop()

    main = threading.get_ident()
    before = threading.active_count()
    usual = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            LoopThread(loop_of_the_interrupted)
    finally:
        signal.signal(signal.SIGINT, usual)
    eventually(lambda: threading.active_count() == before)


def test_work_that_finishes_is_done_when_an_interrupt_is_raised() -> None:
    handled, done = threading.Event(), threading.Event()

    def interrupt(_signal: int, _frame: object) -> None:
        handled.set()
        raise KeyboardInterrupt

    async def work() -> None:
        signal.pthread_kill(main, signal.SIGINT)
        handled.wait()
        await asyncio.sleep(0.01)
        done.set()

    main = threading.get_ident()
    thread = LoopThread()
    usual = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            thread.call(work(), finishes=True)
        assert done.is_set()
    finally:
        signal.signal(signal.SIGINT, usual)
        thread.close()


@contextmanager
def interrupted_at_line(number: int) -> Iterator[None]:
    """Interrupt this thread before so many lines of `LoopThread.call` have run within the block."""
    lines = 0

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        if frame.f_code is not LoopThread.call.__code__:
            return None
        if event == "line":
            lines += 1
            if lines == number:
                raise KeyboardInterrupt
        return trace

    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(usual)


def test_work_that_finishes_is_done_or_not_begun_wherever_an_interrupt_comes() -> None:
    async def work(steps: list[str]) -> None:
        steps.append("begin")
        await asyncio.sleep(0.01)
        steps.append("end")

    thread = LoopThread()
    outcomes = set()
    try:
        for number in range(1, 100):
            steps: list[str] = []
            called = work(steps)
            try:
                with interrupted_at_line(number):
                    thread.call(called, finishes=True)
            except KeyboardInterrupt:
                assert steps in ([], ["begin", "end"]), f"at line {number}"
                outcomes.add(tuple(steps))
                thread.do(lambda: None)  # behind all that was begun
                assert len(steps) != 1, f"at line {number}"
                called.close()  # it may not have come to the thread
            else:
                break
    finally:
        thread.close()
    assert outcomes  # which of the two comes of a line depends on the other thread
