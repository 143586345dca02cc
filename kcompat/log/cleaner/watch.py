"""Compaction on request, with progress reports."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.log.cleaner.cleaner import Compacted
from kcompat.log.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from kcompat.log.cleaner.cleaner import LogCleaner
    from kcompat.log.log import Log

_INTERVAL_S: Final = 0.25


class Progress(msgspec.Struct, frozen=True, tag=True):
    """Progress of a cleaning: the bytes of segments cleaned so far, and the bytes to clean in total."""

    bytes_done: int
    bytes_total: int


async def compact_now(cleaner: LogCleaner, logs: Sequence[Log]) -> AsyncGenerator[Compacted | Progress, None]:
    """Compact these logs now; yield one `Compacted` for each log when it is done, and `Progress` in between.

    The compaction goes on when the caller stops iterating.
    """
    total = sum(log.size for log in logs)
    done = 0
    try:
        outcomes = cleaner.compact(logs)
    except StorageError as fault:
        for log in logs:
            yield Compacted(log.topic, log.partition, log.size, log.size, str(fault))
        return
    loop = asyncio.get_running_loop()
    waiting: set[asyncio.Future[Compacted]] = set()
    for outcome in outcomes:
        future: asyncio.Future[Compacted] = loop.create_future()
        outcome.then(future.set_result)
        waiting.add(future)
    while waiting:
        finished, waiting = await asyncio.wait(
            waiting, timeout=_INTERVAL_S, return_when=asyncio.FIRST_COMPLETED
        )
        for result in sorted((future.result() for future in finished), key=lambda result: result.partition):
            done += result.bytes_before
            yield result
        yield Progress(done + sum(map(cleaner.bytes_cleaned, logs)), total)
