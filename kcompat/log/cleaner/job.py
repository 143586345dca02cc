"""The job and the reports of a cleaning, plain values that two processes exchange as JSON."""

from __future__ import annotations

import msgspec


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Rules of one cleaning; times in ms, offset bounds exclusive.

    `producers` has the last data offset (-1 without data) and the epoch of every producer that the log knows.
    """

    now_ms: int
    delete_retention_ms: int
    max_message_bytes: int
    upper_offset: int
    producers: dict[int, tuple[int, int]]


class SegmentPart(msgspec.Struct, frozen=True):
    """One segment when the cleaning began; sizes in bytes, `modified_ms` is the time of the log file's last
    change.
    """

    base_offset: int
    size: int
    index_bytes: int
    time_index_bytes: int
    modified_ms: int


class CleanJob(msgspec.Struct, frozen=True, kw_only=True):
    """Order to clean the segments `parts` of the log in `directory`, which are all those below
    `rules.upper_offset`.

    The offset map is built from `first_dirty_offset` on and takes at most `map_bytes`, filled up to
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
    """Records and bytes that were read, and those that were kept."""

    bytes_read: int = 0
    bytes_kept: int = 0
    records_read: int = 0
    records_kept: int = 0
    keys: int = 0


class GroupCleaned(msgspec.Struct, frozen=True, tag=True):
    """Report that the segments at these base offsets were merged into synced `.cleaned` files named after the
    first of them.
    """

    base_offsets: tuple[int, ...]
    size: int


class Finished(msgspec.Struct, frozen=True, tag=True):
    """Report that all groups are done; the log is clean below `end_offset`."""

    end_offset: int
    tally: Tally


class Damaged(msgspec.Struct, frozen=True, tag=True):
    """Report that the log cannot be cleaned because its data is damaged."""

    message: str


class Interrupted(msgspec.Struct, frozen=True, tag=True):
    """Report that the cleaning process was killed; the log is not at fault."""

    message: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """Report that a file operation failed."""

    errno: int
    message: str


Report = GroupCleaned | Finished | Damaged | Interrupted | Failed
LAST_WORDS = Finished, Damaged, Interrupted, Failed
"""Types of report that end a cleaning."""
