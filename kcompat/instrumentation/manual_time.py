"""The time of brokers whose clock a program moves.

An advance waits for the compactions that become due. A child process takes a fraction of a second to start,
longer than the compaction of a small log takes, and an advance by years compacts the topics of groups some
dozen times. So small logs are compacted in this process.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kcompat.instrumentation.expiration import expire
from kcompat.instrumentation.manual_clock import ManualClock
from kcompat.instrumentation.outside_work import OutsideWork
from kcompat.instrumentation.quiet_loop import QuietLoop
from kcompat.log.cleaner.runners import StepRunner
from kcompat.log.files import FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.log.cleaner.job import CleanJob
    from kcompat.log.cleaner.runners import Runner
    from kcompat.node.broker import BrokerNode
    from kcompat.node.environment import Environment

SMALL_LOG_BYTES: Final = 4 << 20
"""Size up to which a log is compacted in this process, which takes some ten milliseconds at most."""
SLICE_S: Final = 1.0
"""Seconds for which such a compaction may keep the event loop busy before clients are served again."""


class ManualTime:
    """The time of all brokers of one event loop, which must be a `QuietLoop`."""

    def __init__(self, environment: Environment) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, QuietLoop)
        work = OutsideWork(loop)
        self._clock = ManualClock(loop, work, environment.iteration)
        small_logs_here = replace(environment, start_cleaning=_starter(environment.start_cleaning))
        self.environment = replace(work.counting(small_logs_here), clock=self._clock)
        """The environment in which brokers have this time."""

    @property
    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return self._clock.now_ms()

    async def advance(self, ms: float, nodes: Callable[[], Sequence[BrokerNode]]) -> None:
        """Move the time forward by `ms` milliseconds, and wait until everything that is due by then is done.

        Timers fire at their due times. At the end expired data is removed at once, although a broker would
        find some of it only at its next periodic check. `nodes` returns the running brokers.
        """
        await self._clock.advance(ms)
        for node in nodes():
            node.parts.storage.cleaner.look_now()
        await expire(nodes())
        await self._clock.settle()


def _starter(start_process: Callable[[CleanJob], Runner]) -> Callable[[CleanJob], Runner]:
    """Return the function that starts compactions: those of small logs here, others by `start_process`."""

    def start(job: CleanJob) -> Runner:
        if sum(part.size for part in job.parts) > SMALL_LOG_BYTES:
            return start_process(job)
        return StepRunner(job, FILES, slice_s=SLICE_S)

    return start
