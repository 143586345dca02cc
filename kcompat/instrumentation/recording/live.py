"""The command `trace` of the administration socket: the entries of a broker as they are made.

A reader that is too slow never delays the broker: entries beyond a limit are left out and counted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.instrumentation.recording.capture import Capture, Keeping
from kcompat.instrumentation.recording.journal import Answered, AskedRequest, Entry, RecordJournal, Skipped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kcompat.node.hooks import Hooks

DEEP: Final = "deep"
"""Argument of the command with which large frames and fetched records are sent as well."""
PULSE_S: Final = 1.0
"""Seconds without an entry after which an empty message is sent, which also detects that the reader has left.
"""
QUEUE_BYTES: Final = 4 << 20
"""Maximum number of bytes of entries that wait for a reader."""
ENTRY_COST: Final = 200
"""Bytes that an entry takes in addition to its frame."""
_KEEPING: Final = {DEEP: Keeping(frame=1 << 20, records=1 << 20)}
_BRIEF: Final = Keeping(frame=8 << 10)


class Entries(Struct, frozen=True, tag=True):
    """An answer of the command: the next entries."""

    entries: list[Entry]


async def tracing(broker: Hooks, argument: str) -> AsyncGenerator[Entries, None]:
    """Yield the entries of a broker until the generator is closed."""
    queue = EntryQueue()
    journal = RecordJournal(broker, queue.put)
    journal.begin()
    capture = Capture(journal, _KEEPING.get(argument, _BRIEF))
    broker.interception.add(capture)
    broker.observers.append(journal)
    try:
        while True:
            yield Entries(await queue.take(PULSE_S))
    finally:
        broker.interception.remove(capture)
        broker.observers.remove(journal)


class EntryQueue:
    """Entries that wait for a reader, up to a number of bytes; further ones are counted and left out."""

    def __init__(self, limit: int = QUEUE_BYTES) -> None:
        self._limit = limit
        self._entries: deque[Entry] = deque()
        self._size = 0
        self._skipped = 0
        self._filled = asyncio.Event()

    def put(self, *entries: Entry) -> None:
        """Add entries, or count them."""
        size = sum(map(_size, entries))
        if self._skipped or self._size + size > self._limit:
            self._skipped += len(entries)
        else:
            self._entries.extend(entries)
            self._size += size
        self._filled.set()

    async def take(self, patience_s: float) -> list[Entry]:
        """Wait for entries and return all of them, with the number of entries left out after them; after
        `patience_s` seconds without any entry, return a `Skipped` of 0.
        """
        if not self._filled.is_set():
            try:
                await asyncio.wait_for(self._filled.wait(), patience_s)
            except TimeoutError:
                return [Skipped(0)]
        self._filled.clear()
        taken = list(self._entries)
        if self._skipped:
            taken.append(Skipped(self._skipped))
        self._entries.clear()
        self._size = self._skipped = 0
        return taken


def _size(entry: Entry) -> int:
    if isinstance(entry, AskedRequest):
        return ENTRY_COST + len(entry.frame)
    if isinstance(entry, Answered):
        return ENTRY_COST + sum(len(each) for each in entry.pieces if isinstance(each, bytes))
    return ENTRY_COST
