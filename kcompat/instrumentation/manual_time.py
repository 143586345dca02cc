"""The time of brokers whose clock a program moves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.instrumentation.expiration import expire
from kcompat.instrumentation.manual_clock import ManualClock
from kcompat.instrumentation.outside_work import OutsideWork
from kcompat.instrumentation.quiet_loop import QuietLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.node.broker import BrokerNode
    from kcompat.node.environment import Environment


class ManualTime:
    """The time of all brokers of one event loop, which must be a `QuietLoop`."""

    def __init__(self, environment: Environment) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, QuietLoop)
        work = OutsideWork(loop)
        self._clock = ManualClock(loop, work, environment.iteration)
        self.environment = replace(work.counting(environment), clock=self._clock)
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
