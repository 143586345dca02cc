"""`kcompat log`: dump the files of a log directory, and report damage."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kcompat.cli.progress import ProgressBar
from kcompat.log.dump.rows import DAMAGE, as_json, as_text
from kcompat.log.dump.segment import Depth
from kcompat.log.dump.tree import Dumper, files_in

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from kcompat.log.dump.rows import Row
    from kcompat.log.dump.tree import DumpFile

FOUND_DAMAGE = 1
UNREADABLE = 2


def run(options: argparse.Namespace) -> int:
    """Dump the files; return exit code 1 if a file is damaged, 2 if one cannot be read."""
    try:
        files = files_in(options.paths)
        if files:
            return _dump(files, options)
        print(f"kcompat: no file of a log is in {', '.join(options.paths)}", file=sys.stderr)
    except OSError as error:
        if error.filename is None:  # not a file of the log but standard output
            raise
        print(f"kcompat: {error.filename} cannot be read: {error.strerror}", file=sys.stderr)
    except ValueError as error:
        print(f"kcompat: {error}", file=sys.stderr)
    return UNREADABLE


def _dump(files: Sequence[DumpFile], options: argparse.Namespace) -> int:
    dumper = Dumper(Depth(options.deep, options.verify), options.topic)
    progress = ProgressBar(sum(file.size for file in files), shown=options.quiet or not sys.stdout.isatty())
    faults = gone = 0
    with progress:
        for file in files:
            if not (options.quiet or options.json):
                print(f"{file.path} ({file.size} bytes)")
            try:
                for row in rows_of(dumper, file):
                    faults += row.kind == DAMAGE
                    if row.kind == DAMAGE or not options.quiet:
                        print(as_json(file.path, row) if options.json else as_text(file.path, row))
                    progress.at(row.at)
            except FileNotFoundError:
                if file.path in options.paths:
                    raise
                gone += 1  # a running broker has removed the file
            progress.finished(file.size)
    if not options.json:
        print(f"{len(files) - gone} files, {faults} faults")
    return FOUND_DAMAGE if faults else 0


def rows_of(dumper: Dumper, file: DumpFile) -> Iterator[Row]:
    """Return the rows of a file's dump. Raises OSError with its name, ValueError."""
    try:
        yield from dumper.rows(file)
    except OSError as error:
        error.filename = error.filename or file.path
        raise
