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
    """Make glibc keep freed blocks of up to 8 MiB for reuse; freeing a first block of that size sets the
    threshold.

    Otherwise the kernel maps and clears each page anew for every batch that is unpacked or converted, which
    takes up to a third of the time. The process may hold 16 MiB more.
    """
    bytes(8 << 20)


def collect_less_often() -> None:
    """Reduce the cost of the cyclic garbage collector once the brokers have started.

    Existing objects are exempted, since they live as long as the brokers: a full collection over them takes
    20 ms. The threshold rises from 700 new objects to 20,000: an answer for thousands of partitions briefly
    needs so many, and a broker creates few reference cycles.
    """
    gc.freeze()
    gc.set_threshold(20_000)


@contextmanager
def ended_by_signals(over: asyncio.Event) -> Iterator[None]:
    """Set the event when a signal asks this process to end, within the `with` block. Afterwards such a signal
    ends the process as usual.
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
