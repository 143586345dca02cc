from __future__ import annotations

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
