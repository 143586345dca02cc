"""The content of files of flight records, as exchanges and events in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.assembling import Assembler
from kcompat.instrumentation.recording.flight_file import damaged, flight_files, read_entries
from kcompat.instrumentation.recording.journal import Began

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kcompat.instrumentation.recording.exchange import RecordedEvent, RecordedExchange


class Flight(Struct, frozen=True):
    """The content of flight records."""

    seen: list[tuple[int, RecordedExchange | RecordedEvent]]
    """Exchanges and events with the ids of their brokers, in the order of their times."""
    names: dict[bytes, str]
    """Names of topics by their ids."""


def read_flight(paths: Iterable[Path]) -> Flight:
    """Read files, and all files of directories; requests that were never answered are included.

    Raises:
        UsageError: a file is not a flight record or is damaged, or a directory has no flight record.
        OSError: a file cannot be read.
    """
    assemblers: dict[int, Assembler] = {}
    flight = Flight([], {})
    for path in _files(paths):
        state = Assembler()
        for entry in read_entries(path):
            if isinstance(entry, Began):
                state = assemblers.setdefault(entry.record, Assembler())
            try:
                seen = state.take(entry)
            except ValueError as error:
                raise damaged(path, error) from error
            if seen is not None:
                flight.seen.append((state.broker_id, seen))
    for state in assemblers.values():
        flight.seen.extend((state.broker_id, waiting) for waiting in state.pending.values())
        flight.names.update(state.names)
    flight.seen.sort(key=lambda each: each[1].at_ns)
    return flight


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = flight_files(path)
        if not found:
            raise UsageError(
                f"{path} holds no flight record: name the directory of --record or KCOMPAT_RECORD"
            )
        yield from found
