"""Waits of a blocking client: the only places where a signal stops a command that works on at its end.

A signal handler that raises anywhere else loses what was just received, or the positions of records that are
printed already.
"""

from __future__ import annotations

import math
import select
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from types import FrameType


class StoppedError(Exception):
    """Error that ends a wait after a signal has asked the command to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number
        """Exit code of a process that the signal ends."""


class _Stop:
    """The request of a signal to stop, of which a process has one."""

    number = 0
    """Number of the signal; 0 for none."""
    is_waiting = False
    """Whether the command waits, so that an exception does no harm."""

    def ask(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal; the second one ends what is done at once."""
        if self.number:
            raise KeyboardInterrupt
        self.number = number
        if self.is_waiting:
            raise StoppedError(number)


_stop = _Stop()


@contextmanager
def stopped_by(*numbers: int) -> Iterator[None]:
    """Let signals end the waits of the block by a StoppedError, and a second signal whatever it does."""
    before = {number: signal.signal(number, _stop.ask) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stop.number = 0
        _stop.is_waiting = False


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise StoppedError from any place of the block if a signal asks for it, or has done so before."""
    _stop.is_waiting = True
    try:
        if _stop.number:
            raise StoppedError(_stop.number)
        yield
    finally:
        _stop.is_waiting = False


def pause(seconds: float) -> None:
    """Sleep; not at all for a negative time."""
    with stoppable():
        time.sleep(max(0.0, seconds))


def await_data(sock: socket.socket, until_s: float) -> None:
    """Wait until there is something to receive, or the connection has ended.

    Raises:
        TimeoutError: `until_s`, in the time of `time.monotonic`, came before.
    """
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    left_ms = math.ceil(1000 * (until_s - time.monotonic()))
    with stoppable():
        found = poll.poll(max(left_ms, 0))
    if not found:
        raise TimeoutError
