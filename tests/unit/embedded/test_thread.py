from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from kcompat.embedded.thread import LoopThread
from kcompat.errors import UsageError


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
