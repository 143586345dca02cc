"""The files of one partition's log (Kafka's `LocalLog`): segments that are read, rolled, truncated and
replaced.

`kcompat.log.log.Log` has the offsets, epochs and producers. OSError passes through to it.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from kcompat.log.names import CLEANED, SWAP
from kcompat.log.producer_files import remove_snapshots, snapshot_path
from kcompat.log.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.log.context import LogContext
    from kcompat.log.files import FileRange
    from kcompat.log.segments import Segments
    from kcompat.records.batch import BatchHeader


class LocalLog:
    """The `segments` in one directory, and the producer snapshots beside them."""

    __slots__ = ("_context", "_directory", "segments")

    def __init__(self, directory: str, context: LogContext, segments: Segments) -> None:
        self._directory = directory
        self._context = context
        self.segments = segments

    # -- reading ---------------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, upper_offset: int | None, min_one_batch: bool
    ) -> FileRange | None:
        """Find the bytes that `Log.read` describes; `upper_offset` None reads to the end of the log."""
        segments = self.segments
        active = segments.active
        if offset >= active.base_offset:
            return active.read(offset, max_bytes, upper_offset, min_one_batch)
        for segment in segments.from_offset(offset):
            next_base = segments.next_base_offset(segment)
            beyond = next_base is not None and upper_offset is not None and upper_offset >= next_base
            bound = None if beyond else upper_offset
            found = segment.read(offset, max_bytes, bound, min_one_batch)
            if found is not None or bound is not None or segment.locate(offset)[1]:
                return found
            # the rest of the segment's offsets were compacted away: continue with the next segment
        return None

    def aborted_transactions(
        self, offset: int, upper_offset: int, data: FileRange | None
    ) -> list[tuple[int, int]]:
        segments = self.segments.from_offset(offset)
        found: list[tuple[int, int]] = []
        if data is not None:
            # Where offsets are missing at the end of a segment, `read` continued with the next segment.
            while data.position == 0 and not segments[0].locate(offset)[1]:
                del segments[0]
            beyond = segments[0].first_offset_beyond(data.position + data.length)
            bound = beyond or self.segments.next_base_offset(segments[0]) or upper_offset
            upper_offset = min(upper_offset, max(bound, offset + 1))
        for segment in segments:
            entries, complete = segment.txn_index.overlapping(offset, upper_offset)
            found += [(entry.producer_id, entry.first_offset) for entry in entries]
            if complete:
                break
        return found

    def starts(self) -> list[tuple[int, int]]:
        """Return the base offset of each segment and the time of its newest record (ms)."""
        return [
            (segment.base_offset, segment.largest_timestamp() if segment.size else segment.created_ms)
            for segment in self.segments
        ]

    def headers(self, offset: int) -> Iterator[BatchHeader]:
        """Yield the batch headers from the one that holds `offset` on."""
        for segment in self.segments.from_offset(offset):
            for _, header in segment.headers(offset):
                yield header

    def check_invariants(self, log_end_offset: int) -> None:
        """Assert that the offsets of batches increase, up to the log end."""
        self.segments.check_invariants()
        expected = self.segments.first_base_offset
        for header in self.headers(expected):
            assert header.base_offset >= expected
            expected = header.next_offset
        assert expected <= log_end_offset

    # -- rolling ---------------------------------------------------------------------------------------------

    def roll(self, base_offset: int, now_ms: int) -> Segment:
        """Begin a segment at `base_offset`, at or above the log end; it replaces the active segment if that
        is empty.
        """
        full = self.segments.active
        segment = self._create(base_offset, now_ms)
        if full.size == 0:
            self.segments.replace([full], segment)
            self._remove_now([full])
        else:
            try:
                full.retire()
            except OSError:
                # Appends may continue in the full segment, and a restart would take this one for the end of
                # the log.
                self._remove_now([segment])
                raise
            self.segments.push(segment)
        return segment

    def _create(self, base_offset: int, now_ms: int) -> Segment:
        config = self.segments.active.config
        segment = Segment(self._context.files, self._directory, base_offset, config, now_ms)
        segment.create()
        return segment

    # -- cutting ---------------------------------------------------------------------------------------------

    def drop_oldest(self, count: int, delay_ms: int) -> None:
        """Mark the oldest segments as deleted; their files are removed after `delay_ms`."""
        for segment in self.segments.take_front(count):
            self._context.delete_later(self._put_out_of_use(segment), delay_ms)

    def truncate_to(self, offset: int) -> None:
        """Remove everything from `offset`, which lies in the log, on; the last remaining segment becomes
        active.
        """
        self._remove_now(self.segments.take_above(offset))
        active = self.segments.active
        active.truncate_to(offset)
        active.reopen(offset)
        remove_snapshots(self._context.files, self._directory, above=offset)

    def start_anew(self, offset: int, now_ms: int) -> None:
        """Remove all segments and continue with an empty one at `offset`."""
        old = list(self.segments)
        self._remove_now(old)
        self.segments.replace(old, self._create(offset, now_ms))
        remove_snapshots(self._context.files, self._directory, above=-1)

    def _remove_now(self, segments: list[Segment]) -> None:
        """Remove segments from the end, newest first, so that a crash in between leaves no hole."""
        for segment in reversed(segments):
            self._context.files.remove(self._put_out_of_use(segment))

    def _put_out_of_use(self, segment: Segment) -> list[str]:
        """Mark the segment's files as deleted; return the paths to unlink."""
        segment.release()
        return [*segment.mark_deleted(), snapshot_path(self._directory, segment.base_offset)]

    # -- compaction ------------------------------------------------------------------------------------------

    def replace(self, old: list[Segment], delay_ms: int) -> None:
        """Replace the adjacent segments in `old` with the `.cleaned` files; the old files are removed after
        `delay_ms`.

        The order is Kafka's: `.cleaned` becomes `.swap`, the old files become `.deleted`, oldest first,
        `.swap` becomes final. The next start finishes or undoes a replacement that a crash interrupted
        (`startup`).
        """
        files, base_offset = self._context.files, old[0].base_offset
        new = Segment(files, self._directory, base_offset, old[0].config, old[0].created_ms)
        names = [name for name in new.names if files.exists(name + CLEANED)]
        for name in names:
            files.rename(name + CLEANED, name + SWAP)
        marked = []
        for segment in old:
            marked += segment.mark_deleted()
            segment.release()
        for name in names:
            files.rename(name + SWAP, name)
        new.adopt()
        if not new.load():
            raise OSError(errno.EIO, "the cleaned segment is not sound", new.path)
        self.segments.put_in_place_of(old, new)
        self._context.run(self._sync_names)
        marked += [snapshot_path(self._directory, segment.base_offset) for segment in old[1:]]
        self._context.delete_later(marked, delay_ms)

    def _sync_names(self) -> None:
        """Sync the names in the directory. Runs on the storage thread."""
        try:
            self._context.files.sync_directory(self._directory)
        except OSError as error:
            self._context.fault(error)
