"""The files of one partition's log (Kafka's `LocalLog`): segments that are read, rolled, flushed and cut.

`kcompat.log.log.Log` puts leader epochs, producers and the log start on top of it.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from kcompat.log import timestamps
from kcompat.log.errors import StorageError
from kcompat.log.flushes import Flushes
from kcompat.log.group_commit import NONE_WAITS, GroupCommit
from kcompat.log.names import CLEANED, SWAP
from kcompat.log.producer_files import snapshot_path
from kcompat.log.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.log.config import LogConfig
    from kcompat.log.context import LogContext
    from kcompat.log.files import FileRange
    from kcompat.log.flushes import Flush
    from kcompat.log.segments import Segments
    from kcompat.log.timestamps import TimestampOffset
    from kcompat.records.batch import BatchHeader


class LocalLog:
    """Segments and what is known of them. `size` is in bytes; the offsets are the next to be written and the
    first.
    """

    __slots__ = (
        "_closed",
        "_commit",
        "_flush_at",
        "_flushes",
        "_segments",
        "config",
        "context",
        "cuts",
        "directory",
        "last_flush_ms",
        "log_end_offset",
        "log_start_offset",
        "on_synced",
        "size",
        "unsynced_from",
    )

    def __init__(
        self,
        directory: str,
        config: LogConfig,
        context: LogContext,
        segments: Segments,
        *,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        now_ms: int,
    ) -> None:
        self.directory = directory
        self.config = config
        self.context = context
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.last_flush_ms = now_ms
        self.size = segments.size
        self._segments = segments
        self._flushes = Flushes(context, recovery_point)
        self._flush_at = recovery_point + config.flush_messages
        self._commit: GroupCommit | None = None
        self.unsynced_from = NONE_WAITS
        """From this offset on nothing may be acknowledged or read, before it is on the device."""
        self.on_synced: Callable[[], object] | None = None
        """Called whenever a sync that `unsynced_from` waits for has ended; the log may have failed."""
        self._closed = False
        self.cuts = 0
        """How often the log was cut at its end; what was read of it before that may be gone."""

    @property
    def is_failed(self) -> bool:
        """Whether the log takes no more appends: after a fault of the disk (KAFKA-10778), or because it was
        closed.
        """
        return self._closed or self.context.offline is not None

    @property
    def write_position(self) -> int:
        """Where in its file the next batch goes, unless a new segment begins with it."""
        return self._segments.active.size

    def discard(self) -> None:
        """Take no more appends and let go of the active file: the log is closed, or its partition was
        deleted.
        """
        self._closed = True
        self._segments.active.release()

    def _out_of_service(self) -> StorageError:
        return self.context.offline or StorageError(self.context.path, f"{self.directory} is closed")

    # -- reading ---------------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, upper_offset: int, min_one_batch: bool = True
    ) -> FileRange | None:
        """Bytes of one segment from the batch that holds `offset`, none at or above `upper_offset`; None for
        nothing.

        Cut at `max_bytes`, maybe inside a batch; `min_one_batch` gives the first batch whole whatever its
        size. `offset` lies between log start and log end. Raises StorageError.
        """
        upper = None if upper_offset >= self.log_end_offset else upper_offset
        segments = self._segments
        try:
            active = segments.active
            if offset >= active.base_offset:
                return active.read(offset, max_bytes, upper, min_one_batch)
            for segment in segments.from_offset(offset):
                next_base = segments.next_base_offset(segment)
                bound = None if upper is None or (next_base is not None and upper >= next_base) else upper
                found = segment.read(offset, max_bytes, bound, min_one_batch)
                if found is not None or bound is not None:
                    return found
                # offsets were compacted away at the end of the segment: go on with the next
        except OSError as error:
            raise self.context.fault(error) from error
        return None

    def aborted_transactions(
        self, offset: int, upper_offset: int, data: FileRange | None = None
    ) -> list[tuple[int, int]]:
        """(producer id, first offset) of aborted transactions in [offset, upper_offset).

        With `data`, read from `offset`, only those that may concern it. Raises StorageError.
        """
        segments = self._segments.from_offset(offset)
        found: list[tuple[int, int]] = []
        with self.context.faults():
            if data is not None:
                beyond = segments[0].first_offset_beyond(data.position + data.length)
                bound = beyond or self._segments.next_base_offset(segments[0]) or upper_offset
                upper_offset = min(upper_offset, max(bound, offset + 1))
            for segment in segments:
                entries, complete = segment.txn_index.overlapping(offset, upper_offset)
                found += [(entry.producer_id, entry.first_offset) for entry in entries]
                if complete:
                    break
        return found

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record at or after `timestamp` (ms), at or above the log start. Raises StorageError."""
        with self.context.faults():
            return timestamps.find(self._segments, timestamp, self.log_start_offset)

    def max_timestamp_offset(self) -> TimestampOffset | None:
        """The first record with the largest timestamp of the log (KIP-734). Raises StorageError."""
        with self.context.faults():
            return timestamps.find_max(self._segments)

    # -- rolling and flushing --------------------------------------------------------------------------------

    def roll(self, now_ms: int) -> None:
        """Begin a new segment at the log end, unless the active one is still empty. Raises StorageError."""
        if self._segments.active.size:
            with self.context.faults():
                self._roll(self.log_end_offset, now_ms)

    def _roll(self, base_offset: int, now_ms: int) -> Segment:
        """Begin a segment at `base_offset` (>= log end); the older one is written out and synced in the
        background.
        """
        full = self._segments.active
        segment = Segment(self.context.files, self.directory, base_offset, self.config, now_ms)
        segment.create()
        if full.size == 0:
            self._segments.replace([full], segment)
            self._drop([full], delay_ms=0)
        else:
            full.retire()
            self._segments.push(segment)
            self._flushes.start(self._segments, base_offset)
        return segment

    @property
    def recovery_point(self) -> int:
        """Everything below this offset is on the device."""
        return self._flushes.recovery_point

    def flush_if_due(self, now_ms: int) -> None:
        """Flush in the background when `flush.ms` have passed since the last time. Raises StorageError."""
        if now_ms - self.last_flush_ms >= self.config.flush_ms:
            self.last_flush_ms = now_ms
            if self.log_end_offset > self.recovery_point:
                self._group_commit().request()

    def _flush_after(self, base_offset: int, now_ms: int) -> None:
        """The append at `base_offset` has reached `flush.messages`: it waits for a sync that begins soon."""
        self.last_flush_ms = now_ms
        self._flush_at = self.log_end_offset + self.config.flush_messages
        self._group_commit().hold(base_offset)

    def _group_commit(self) -> GroupCommit:
        if self._commit is None:
            self._commit = GroupCommit(self)
        return self._commit

    def begin_flush(self) -> Flush:
        """A sync of everything, to be run by the caller. Raises OSError."""
        return self._flushes.everything(self._segments, self.log_end_offset, self.directory)

    def flush(self, now_ms: int | None = None) -> None:
        """Force everything to the device; the recovery point becomes the log end. Raises StorageError."""
        if now_ms is not None:
            self.last_flush_ms = now_ms
        if self.log_end_offset > self.recovery_point:
            with self.context.faults():
                flush = self.begin_flush()
            flush.run()
            if self.recovery_point < self.log_end_offset:
                raise self._out_of_service()
        self._flush_at = self.log_end_offset + self.config.flush_messages

    # -- cutting ---------------------------------------------------------------------------------------------

    def _set_end(self, offset: int) -> None:
        self.cuts += 1
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self._flushes.cut(offset)
        if self._commit is not None:
            self._commit.cut(offset)
        self._flush_at = self.recovery_point + self.config.flush_messages
        self.size = self._segments.size

    def _drop_newest_first(self, segments: list[Segment]) -> None:
        """Cut segments off the end now, in an order that leaves no hole if the process dies meanwhile."""
        self._drop(segments[::-1], delay_ms=0)

    def _drop(self, segments: list[Segment], *, delay_ms: int) -> None:
        """Put files out of use by renaming them, and unlink them later; with no delay, now."""
        for segment in segments:
            segment.release()
            marked = segment.mark_deleted()
            marked.append(snapshot_path(self.directory, segment.base_offset))
            if delay_ms:
                self.context.delete_later(marked, delay_ms)
            else:
                self.context.files.remove(marked)

    # -- compaction ------------------------------------------------------------------------------------------

    @property
    def has_one_segment(self) -> bool:
        """Whether there is only the active segment."""
        return len(self._segments) == 1

    @property
    def segments(self) -> list[Segment]:
        """The segments, the active one last."""
        return list(self._segments)

    def replace_segments(self, old: list[Segment]) -> None:
        """Put the `.cleaned` files that stand for these neighbours in their place; they go later.

        The order is Kafka's: `.cleaned` becomes `.swap`, the old files become `.deleted`, oldest first,
        `.swap` becomes final. A crash anywhere in between is put right at the next start (`startup`). So is a
        step that fails: the directory goes offline. Raises StorageError.
        """
        files, base_offset = self.context.files, old[0].base_offset
        new = Segment(files, self.directory, base_offset, self.config, old[0].created_ms)
        try:
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
                raise OSError(errno.EIO, "the cleaned segment is not sound", new.path)  # noqa: TRY301
        except OSError as error:
            raise self.context.fault(OSError(errno.EIO, str(error))) from error
        self._segments.put_in_place_of(old, new)
        self.context.run(self._sync_names)
        self.size = self._segments.size
        marked += [snapshot_path(self.directory, segment.base_offset) for segment in old[1:]]
        self.context.delete_later(marked, self.config.file_delete_delay_ms)

    def _sync_names(self) -> None:
        """On the storage thread."""
        try:
            self.context.files.sync_directory(self.directory)
        except OSError as error:
            self.context.fault(error)

    # -- looking in ------------------------------------------------------------------------------------------

    @property
    def segment_base_offsets(self) -> list[int]:
        """Base offsets of the segments, the active one last."""
        return self._segments.base_offsets

    def segment_starts(self) -> list[tuple[int, int]]:
        """Base offset of each segment, and when its newest record was written (ms). Raises StorageError."""
        with self.context.faults():
            return [
                (segment.base_offset, segment.largest_timestamp() if segment.size else segment.created_ms)
                for segment in self._segments
            ]

    def headers(self, offset: int) -> Iterator[BatchHeader]:
        """The batch headers from the one that holds `offset` on."""
        for segment in self._segments.from_offset(offset):
            for _, header in segment.headers(offset):
                yield header
