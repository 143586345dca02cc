"""The clock of embedded brokers: the clock of the machine, or one that the program moves forward."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kcompat.errors import UsageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from kcompat.clock import Clock
    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.manual_time import ManualTime
    from kcompat.node.broker import BrokerNode
    from kcompat.node.environment import Environment

LONGEST = timedelta(days=36525)
"""Longest single advance: 100 years."""


class Timing:
    """The choice of a clock, and the event loop and environment that the choice requires."""

    clock: Clock
    """The clock of the environment that was made last."""

    def __init__(self, clock: str) -> None:
        """Take the name of a clock, `real` or `manual`. Raises UsageError."""
        if clock not in ("real", "manual"):
            raise UsageError(f"clock={clock!r} is no clock: use 'real', or 'manual' to move the time ahead")
        self._is_manual = clock == "manual"
        self._manual: ManualTime | None = None

    def loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop] | None:
        """Return the factory of the event loop; None for asyncio's own loop."""
        if not self._is_manual:
            return None
        from kcompat.instrumentation.quiet_loop import QuietLoop

        return QuietLoop

    def environment(self) -> Environment:
        """Return the environment of brokers on the running loop, which `loop_factory` made."""
        from kcompat.node.environment import real_environment

        environment = real_environment()
        if self._is_manual:
            from kcompat.instrumentation.manual_time import ManualTime

            self._manual = ManualTime(environment)
            environment = self._manual.environment
        self.clock = environment.clock
        return environment

    @property
    def manual_time(self) -> ManualTime | None:
        """The time that `advance` moves; None if the clock is the real one."""
        return self._manual

    def insist_on_manual(self) -> ManualTime:
        """Return the time that `advance` moves. Raises UsageError if the clock is the real one."""
        if self._manual is None:
            raise UsageError(
                "the time is that of the machine: make it with clock='manual' to move the time ahead"
            )
        return self._manual


class Timed(ABC):
    """Base class of running brokers with a `Timing`."""

    _timing: Timing

    @abstractmethod
    def _running(self) -> tuple[LoopThread, Any]:
        """Return the thread of the brokers. Raises UsageError if they are not started."""

    @abstractmethod
    def _running_nodes(self) -> Sequence[BrokerNode]:
        """Return the brokers that run now. Called on the loop of the thread."""

    @property
    def now_ms(self) -> int:
        """The brokers' time in milliseconds since the epoch, as in timestamps of records. Raises UsageError
        if they are not started.
        """
        thread, _ = self._running()
        return thread.do(self._timing.clock.now_ms)

    def advance(
        self,
        delta: timedelta | None = None,
        *,
        weeks: float = 0,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        ms: float = 0,
    ) -> None:
        """Move the brokers' time forward, by a `timedelta` or by numbers; needs `clock="manual"`.

        Everything that is due by then expires in order, at its due time: sessions of group members,
        transactions, ids of producers, offsets, segments, tokens. Returns when all of that is done.

        Raises:
            UsageError: the clock is the real one, the brokers are not started, or the time is negative or
                longer than 100 years.
        """
        by = _duration(
            delta, weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=ms
        )
        thread, _ = self._running()
        manual = self._timing.insist_on_manual()
        thread.call(manual.advance(by / timedelta(milliseconds=1), self._running_nodes))

    def expire(self, topic: str | None = None) -> None:
        """Run the brokers' periodic checks for expired data now, and wait until they are done.

        They check transactions, transactional ids, offsets of groups, idempotent producers, segments of logs
        and delegation tokens; with `topic` only the producers and segments of that topic.

        Raises:
            UsageError: the brokers are not started, or there is no such topic.
        """
        thread, _ = self._running()
        thread.call(self._expire(topic))

    async def _expire(self, topic: str | None) -> None:
        from kcompat.instrumentation.expiration import expire

        nodes = self._running_nodes()
        if topic is not None and not any(
            log.topic == topic for node in nodes for log in node.parts.storage.logs
        ):
            raise UsageError(f"there is no topic {topic!r}: create it, or expire all topics")
        await expire(nodes, topic)


def _duration(delta: timedelta | None, **numbers: float) -> timedelta:
    """Return the sum of a duration and numbers of time units. Raises UsageError."""
    if delta is not None and not isinstance(delta, timedelta):
        raise UsageError(
            f"{delta!r} is not a time: use advance(days=8), for instance, or a datetime.timedelta"
        )
    try:
        by = (delta or timedelta()) + timedelta(**numbers)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"the time cannot be moved so ({error}): use advance(days=8), for instance"
        ) from error
    if not timedelta() <= by <= LONGEST:
        raise UsageError(f"the time cannot be moved by {by}: use between 0 seconds and 100 years")
    return by
