"""Finishing or undoing, before segments are loaded, replacements that a crash interrupted in a partition
directory.

Replacing segments (compaction, splitting) writes `.cleaned` files, renames them to `.swap`, renames the old
files to `.deleted`, and then renames `.swap` to the final names. A crash between any two of these steps is
recovered here, in the passes of Kafka's LogLoader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.names import CLEANED, DELETED, LOG, SEGMENT_SUFFIXES, SWAP, offset_of
from kcompat.log.scan import walk

if TYPE_CHECKING:
    from kcompat.log.files import Files

TEMPORARY = ".tmp"


def finish_interrupted_work(files: Files, directory: str) -> list[str]:
    """Finish or undo interrupted replacements; return the remaining file names, sorted."""
    names = files.list(directory)
    if not any(name.endswith((DELETED, CLEANED, SWAP, TEMPORARY)) for name in names):
        return names
    unneeded = [name for name in names if name.endswith((DELETED, CLEANED, TEMPORARY))]
    cleaned = [_offset(name) for name in names if name.endswith(CLEANED)]
    swaps = [name for name in names if name.endswith(SWAP)]
    incomplete = [name for name in swaps if cleaned and _offset(name) >= min(cleaned)]
    _remove(files, directory, unneeded + incomplete)
    swaps = [name for name in swaps if name not in incomplete]
    _remove(files, directory, _replaced(files, directory, names, swaps))
    for name in swaps:
        files.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP)}")
    files.sync_directory(directory)
    return files.list(directory)


def _replaced(files: Files, directory: str, names: list[str], swaps: list[str]) -> list[str]:
    """Return the segment files whose base offset lies in the range of complete `.log.swap` files."""
    low: int | None = None
    high = 0  # a cleaned segment without batches still replaces the segment of its name
    for name in swaps:
        if name.endswith(LOG + SWAP):
            path = f"{directory}/{name}"
            file = files.open_existing(path)
            for _, base, last, _ in walk(file, 0, files.size(path) or 0):
                low = base if low is None else min(low, base)
                high = max(high, last + 1)
            low = _offset(name) if low is None else min(low, _offset(name))
            high = max(high, _offset(name) + 1)
    if low is None:
        return []
    return [name for name in names if name.endswith(SEGMENT_SUFFIXES) and low <= _offset(name) < high]


def remove_orphans(files: Files, directory: str, names: list[str]) -> None:
    """Delete index files that have no log file beside them."""
    logs = {offset_of(name) for name in names if name.endswith(LOG)}
    _remove(
        files,
        directory,
        [name for name in names if name.endswith(SEGMENT_SUFFIXES) and offset_of(name) not in logs],
    )


def _offset(name: str) -> int:
    offset = offset_of(name)
    return -1 if offset is None else offset


def _remove(files: Files, directory: str, names: list[str]) -> None:
    files.remove(f"{directory}/{name}" for name in names)
