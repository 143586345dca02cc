"""Limits, memory settings and signals of a process that runs brokers as a command."""

from __future__ import annotations

import asyncio
import gc
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def keep_freed_memory() -> None:
    """Make glibc keep freed blocks of up to 8 MiB for reuse: it learns that from the first one to be freed.

    Else the kernel finds and clears each page anew for every batch that is unpacked or converted, which takes
    up to a third of the time. It may hold 16 MiB more for that.
    """
    bytes(8 << 20)


def collect_less_often() -> None:
    """Spare the brokers, which have started, most of what the cyclic collector costs.

    It passes over all that exists by now, which stays as long as they do: to look at it costs a full
    collection 20 ms. And it looks at what comes once there are 20,000 objects more, and not 700. What answers
    thousands of partitions takes so many for a moment, and a broker makes few circles.
    """
    gc.freeze()
    gc.set_threshold(20_000)


@contextmanager
def ended_by_signals(over: asyncio.Event) -> Iterator[None]:
    """Meanwhile a signal that asks this process to end sets the event. Afterwards the next one ends what does
    not end by itself.
    """
    loop, numbers = asyncio.get_running_loop(), _ending_signals()
    for number in numbers:
        loop.add_signal_handler(number, over.set)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _ending_signals() -> list[signal.Signals]:
    """Return the signals that end the command cleanly; SIGHUP is one of them unless `nohup` ignores it."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        return [signal.SIGTERM, signal.SIGINT]
    return [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
