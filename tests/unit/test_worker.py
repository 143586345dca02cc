"""Threads beside the loop: order, names, and that a close leaves nothing behind."""

from __future__ import annotations

import threading
from functools import partial

from kcompat.worker import ThreadWorker


def test_one_thread_does_it_in_order() -> None:
    worker, done = ThreadWorker("of-this-test"), list[tuple[int, str]]()

    def note(number: int) -> None:
        done.append((number, threading.current_thread().name))

    for number in range(100):
        worker.submit(partial(note, number))
    worker.close()
    assert done == [(number, "of-this-test") for number in range(100)]


def test_several_threads_do_so_much_at_a_time() -> None:
    worker, meeting = ThreadWorker("of-this-test", 3), threading.Barrier(4)
    for _ in range(3):
        worker.submit(lambda: meeting.wait(10))
    meeting.wait(10)  # all three are at work at once
    worker.close()


def test_no_thread_before_the_work_nor_after_the_close() -> None:
    worker = ThreadWorker("of-this-test")
    assert threads() == 0
    worker.submit(lambda: None)
    worker.close()
    assert threads() == 0
    again = threading.Event()
    worker.submit(again.set)
    assert again.wait(10)
    worker.close()


def threads() -> int:
    return sum(thread.name == "of-this-test" for thread in threading.enumerate())
