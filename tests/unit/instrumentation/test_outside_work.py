"""The count of what threads and child processes do."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kcompat.instrumentation.outside_work import OutsideWork
from kcompat.log.cleaner.job import Finished, GroupCleaned, Tally
from kcompat.node.environment import real_environment

if TYPE_CHECKING:
    from kcompat.log.cleaner.job import Report


class Cleaning:
    """A `Runner` with these reports."""

    def __init__(self, *polls: list[Report]) -> None:
        self.polls = list(polls)
        self.is_stopped = False

    def poll(self) -> list[Report]:
        return self.polls.pop(0)

    def stop(self) -> None:
        self.is_stopped = True


async def test_work_of_a_thread_counts_until_the_loop_has_its_result() -> None:
    loop = asyncio.get_running_loop()
    work = OutsideWork(loop)
    worker = work.counting(real_environment()).start_worker("test", 1)
    may_go_on, results = threading.Event(), list[int]()

    def compute() -> None:
        may_go_on.wait()
        loop.call_soon_threadsafe(results.append, 1)

    worker.submit(compute)
    worker.submit(lambda: 1 / 0)  # logged, and counted all the same
    assert work.is_under_way
    may_go_on.set()
    await work.until_done()
    assert results == [1]
    worker.close()


async def test_a_cleaning_counts_until_its_last_report() -> None:
    work = OutsideWork(asyncio.get_running_loop())
    cleaning = Cleaning([], [GroupCleaned((0,), 1)], [Finished(5, Tally())])
    environment = replace(real_environment(), start_cleaning=lambda _job: cleaning)
    counted: Any = work.counting(environment)
    runner = counted.start_cleaning(None)
    for is_under_way in (True, True, False):
        runner.poll()
        assert work.is_under_way == is_under_way
    runner.stop()
    assert cleaning.is_stopped
    assert not work.is_under_way
    await work.until_done()


async def test_a_cleaning_that_is_stopped_counts_no_longer() -> None:
    work = OutsideWork(asyncio.get_running_loop())
    environment = replace(real_environment(), start_cleaning=lambda _job: Cleaning())
    counted: Any = work.counting(environment)
    runner = counted.start_cleaning(None)
    assert work.is_under_way
    runner.stop()
    runner.stop()
    assert not work.is_under_way
