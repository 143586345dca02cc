"""`kcompat trace`: one line for each request to a running broker, or in a flight record."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING

from kcompat.cli.start import in_one_sentence, read_config
from kcompat.errors import UsageError
from kcompat.instrumentation.recording.assembling import Assembler
from kcompat.instrumentation.recording.entry import ConnectionEvent, RecordedRequest
from kcompat.instrumentation.recording.exchange import RecordedExchange
from kcompat.instrumentation.recording.filters import WantedRequests
from kcompat.instrumentation.recording.flight_reader import read_flight
from kcompat.instrumentation.recording.journal import Skipped
from kcompat.instrumentation.recording.live import DEEP, Entries
from kcompat.instrumentation.recording.showing import shown_fields
from kcompat.net.admin_socket import FILE_NAME, AdminSocketClient

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from kcompat.instrumentation.recording.exchange import RecordedEvent
    from kcompat.instrumentation.recording.journal import Entry

MOST_WAITING = 1000
"""Maximum number of entries that wait to be printed; the broker counts further ones and leaves them out."""


def run(options: argparse.Namespace) -> int:
    """Print what the options ask for; return the exit code."""
    return in_one_sentence(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    wanted = WantedRequests.of(options.client, options.api, options.topic, errors_only=options.errors)
    printer = _Printer(wanted, deep=options.deep, live=not options.files)
    if options.files:
        _print_files(options.files, printer)
        return 0
    config = read_config(options, os.environ, options.data_dir)
    _print_live(config.log_dirs[0], printer, DEEP if options.deep else "")
    return 0


class _Printer:
    """Output of the command: the lines of the requests and events that are wanted."""

    def __init__(self, wanted: WantedRequests, *, deep: bool, live: bool) -> None:
        self._wanted = wanted
        self._deep = deep
        self._live = live
        self.shows_broker = False
        """Whether lines begin with the id of the broker."""

    def show(self, seen: RecordedExchange | RecordedEvent, broker_id: int, names: dict[bytes, str]) -> None:
        """Print a request or an event, if it is wanted."""
        broker = f"broker {broker_id} " if self.shows_broker else ""
        if not isinstance(seen, RecordedExchange):
            if self._wanted.everything or (self._wanted.errors_only and seen.what == "complaint"):
                print(f"{broker}{ConnectionEvent(seen, broker_id)!r}", flush=self._live)
            return
        request = RecordedRequest(seen, broker_id, names)
        if self._wanted.includes(request):
            print(f"{broker}{request!r}", flush=self._live)
            if self._deep:
                for line in shown_fields(request):
                    print(f"    {line}", flush=self._live)


def _print_files(paths: Sequence[Path], printer: _Printer) -> None:
    """Print the requests of flight records in their order, with those that were never answered."""
    try:
        flight = read_flight(paths)
    except OSError as error:
        raise UsageError(
            f"{error.filename} cannot be read: {error.strerror}. Name files of a flight record or their "
            "directory, or trace a running broker by --data-dir"
        ) from error
    printer.shows_broker = len({broker_id for broker_id, _ in flight.seen}) > 1
    for broker_id, each in flight.seen:
        printer.show(each, broker_id, flight.names)


def _print_live(directory: str, printer: _Printer, depth: str) -> None:
    """Print the requests to the brokers below a directory, until Ctrl-C or until the brokers have stopped."""
    brokers = _connect(directory)
    if not brokers:
        raise UsageError(f"no broker runs on {directory}: name its directory with --data-dir")
    printer.shows_broker = len(brokers) > 1
    arrived: Queue[tuple[int, Entry | None]] = Queue(MOST_WAITING)
    for index, broker in enumerate(brokers):
        threading.Thread(target=_read, args=(index, broker, depth, arrived), daemon=True).start()
    assemblers = [Assembler() for _ in brokers]
    running = len(brokers)
    try:
        while running:
            index, entry = arrived.get()
            if entry is None:
                running -= 1
                continue
            state = assemblers[index]
            if isinstance(entry, Skipped) and entry.count:
                print(f"... {entry.count} entries left out: the reader is too slow", flush=True)
            seen = state.take(entry)
            if seen is not None:
                printer.show(seen, state.broker_id, state.names)
    except KeyboardInterrupt:
        for state in assemblers:
            for waiting in state.pending.values():
                printer.show(waiting, state.broker_id, state.names)
    else:
        print("kcompat: the broker has stopped", file=sys.stderr)


def _connect(directory: str) -> list[AdminSocketClient]:
    """Connect to the broker on a directory, or to each of those below it."""
    found = [directory, *(str(path.parent) for path in sorted(Path(directory).glob(f"broker-*/{FILE_NAME}")))]
    try:
        connected = [AdminSocketClient.connect(each) for each in found]
    except OSError as error:
        raise UsageError(f"the broker on {directory} cannot be reached: {error.strerror or error}") from error
    return [each for each in connected if each is not None]


def _read(
    index: int, broker: AdminSocketClient, depth: str, arrived: Queue[tuple[int, Entry | None]]
) -> None:
    for entry in _entries(broker, depth):
        arrived.put((index, entry))
    arrived.put((index, None))


def _entries(broker: AdminSocketClient, depth: str) -> Iterator[Entry]:
    try:
        for answer in broker.ask("trace", depth, Entries):
            yield from answer.entries
    except (ConnectionError, ValueError):
        return  # the broker has stopped
