"""The job and the reports of a cleaning: plain values that travel between two processes as JSON."""

from __future__ import annotations

import msgspec


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one round of cleaning; times in ms, offsets exclusive at the top.

    `producers` has the last data offset (-1: none) and the epoch of every producer that the log knows.
    """

    now_ms: int
    delete_retention_ms: int
    max_message_bytes: int
    upper_offset: int
    producers: dict[int, tuple[int, int]]


class SegmentPart(msgspec.Struct, frozen=True):
    """One segment as it was when the cleaning began; sizes in bytes, `modified_ms` of its log file."""

    base_offset: int
    size: int
    index_bytes: int
    time_index_bytes: int
    modified_ms: int


class CleanJob(msgspec.Struct, frozen=True, kw_only=True):
    """Clean the segments `parts` of the log in `directory`: all of those below `rules.upper_offset`.

    The map of keys is built from `first_dirty_offset` on and takes at most `map_bytes`, filled up to
    `load_factor`. `bytes_per_second` limits reads and writes together.
    """

    directory: str
    parts: tuple[SegmentPart, ...]
    first_dirty_offset: int
    rules: Rules
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    map_bytes: int
    load_factor: float
    bytes_per_second: float


class Tally(msgspec.Struct):
    """Bytes that were read, and bytes that were kept."""

    bytes_read: int = 0
    bytes_kept: int = 0
    records_read: int = 0
    records_kept: int = 0
    keys: int = 0


class GroupCleaned(msgspec.Struct, frozen=True, tag=True):
    """The segments at these base offsets are now `.cleaned` files at the first of them, synced."""

    base_offsets: tuple[int, ...]
    size: int


class Finished(msgspec.Struct, frozen=True, tag=True):
    """All groups are done; below `end_offset` the log is clean."""

    end_offset: int
    tally: Tally


class Damaged(msgspec.Struct, frozen=True, tag=True):
    """The log cannot be cleaned, since what is in it is damaged."""

    message: str


class Interrupted(msgspec.Struct, frozen=True, tag=True):
    """The cleaning process was killed; nothing is wrong with the log."""

    message: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A file operation failed."""

    errno: int
    message: str


Report = GroupCleaned | Finished | Damaged | Interrupted | Failed
LAST_WORDS = Finished, Damaged, Interrupted, Failed
"""After one of these nothing more is heard."""
