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
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from types import FrameType

IMPATIENCE_S: Final = 1.0
"""Seconds after which another signal ends the command at once. Earlier ones are copies of the first signal:
programs such as `timeout` send them to the command and to its group.
"""


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
    impatience_s = IMPATIENCE_S
    asked_s = 0.0
    """Time of the signal, of `time.monotonic`."""
    is_waiting = False
    """Whether the command is in a wait that a signal may end, so that an exception does no harm."""
    is_closing = False
    """Whether the command does what its end needs, which no first signal stops."""

    def ask(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal. Raises KeyboardInterrupt for a later one, wherever the command is."""
        now_s = time.monotonic()
        if self.number:
            if now_s - self.asked_s > self.impatience_s:
                raise KeyboardInterrupt
            return
        self.number, self.asked_s = number, now_s
        if self.is_waiting:
            raise StoppedError(number)


_stop = _Stop()


@contextmanager
def stopped_by(*numbers: int, impatience_s: float = IMPATIENCE_S) -> Iterator[None]:
    """Let a signal end the waits of the block by a StoppedError, and one that comes `impatience_s` later
    whatever the block does, by a KeyboardInterrupt.
    """
    _stop.impatience_s = impatience_s
    before = {number: signal.signal(number, _stop.ask) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stop.number = 0
        _stop.is_waiting = False


@contextmanager
def closing() -> Iterator[None]:
    """Let the waits of the block go on although a signal has asked the command to stop."""
    _stop.is_closing = True
    try:
        yield
    finally:
        _stop.is_closing = False


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise StoppedError from any place of the block if a signal asks for it, or has done so before."""
    _stop.is_waiting = not _stop.is_closing
    try:
        if _stop.number and _stop.is_waiting:
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
