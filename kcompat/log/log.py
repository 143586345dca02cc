"""One partition's log (Kafka's `UnifiedLog` over `LocalLog`): append, read, roll, cut, flush.

State changes only after the write that makes it true. Offsets are exclusive at the top: `log_end_offset` is the next
one to be written. The event loop is the only caller, so nothing is locked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.log import retention, timestamps
from kcompat.log.errors import StorageError
from kcompat.log.flushes import Flushes
from kcompat.log.producer_files import load_producers, remove_snapshots, save_snapshot, snapshot_path
from kcompat.log.producers import AppendOrigin, BatchMetadata, ProducerEntry, ProducerState
from kcompat.log.segment import Segment
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import (
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    assign,
    crc_matches,
    iter_headers,
    set_log_append_time,
)
from kcompat.records.control import EndTransactionMarker, read_marker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.log.config import LogConfig
    from kcompat.log.context import LogContext
    from kcompat.log.epoch_file import EpochFile
    from kcompat.log.files import FileRange
    from kcompat.log.segments import Segments
    from kcompat.log.timestamps import TimestampOffset

NO_APPEND_TIME: Final = -1
NO_OFFSET: Final = -1


class AppendResult(msgspec.Struct, frozen=True, gc=False):
    """What became of one append. `append_time_ms` is -1 unless the broker's clock made the timestamps."""

    error: ErrorCode
    base_offset: int
    last_offset: int
    append_time_ms: int
    log_start_offset: int
    duplicate: bool = False


class Log:
    """The log of one partition. Made by `Log.create` or `Log.open`; `size` is in bytes."""

    __slots__ = (
        "_closed",
        "_epochs",
        "_flush_at",
        "_flushes",
        "_segments",
        "_stamps",
        "config",
        "context",
        "directory",
        "last_flush_ms",
        "log_end_offset",
        "log_start_offset",
        "partition",
        "producer_state",
        "size",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        directory: str,
        topic: str,
        partition: int,
        topic_id: bytes,
        config: LogConfig,
        context: LogContext,
        *,
        segments: Segments,
        epochs: EpochFile,
        producers: ProducerState,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        now_ms: int,
    ) -> None:
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.context = context
        self.producer_state = producers
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.last_flush_ms = now_ms
        self.size = segments.size
        self._segments = segments
        self._epochs = epochs
        self._flushes = Flushes(context, recovery_point)
        self._closed = False
        self.update_config(config)

    # -- opening and closing -------------------------------------------------------------------------------------

    @staticmethod
    def create(
        directory: Path | str,
        topic: str,
        partition: int,
        config: LogConfig,
        *,
        topic_id: bytes,
        now_ms: int,
        context: LogContext | None = None,
    ) -> Log:
        """A new, empty log in a directory that does not exist yet. Segment files follow with the first append."""
        from kcompat.log.loader import create_log  # the loader builds logs, so it imports this module

        return create_log(str(directory), topic, partition, topic_id, config, context, now_ms)

    @staticmethod
    def open(
        directory: Path | str,
        topic: str,
        partition: int,
        config: LogConfig,
        *,
        now_ms: int,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        clean: bool = False,
        context: LogContext | None = None,
    ) -> Log:
        """Load a log. Unless the last stop was clean, what lies above `recovery_point` is checked batch by batch."""
        from kcompat.log.loader import LogLoader

        loader = LogLoader(str(directory), config, context, now_ms)
        return loader.load(topic, partition, None if clean else recovery_point, log_start_offset)

    def update_config(self, config: LogConfig) -> None:
        """Obey changed topic configs from the next append on."""
        self.config = config
        self._stamps = config.stamps_append_time
        for segment in self._segments:
            segment.configure(config)

    def close(self, *, sync: bool = True) -> None:
        """Snapshot the producers, write the indexes, and flush. Without `sync` the caller syncs the file
        system after.
        """
        if self._failed is None and self.log_end_offset > 0:
            self._save_snapshot()
            self._active.retire()
            if sync:
                self.flush()
            else:
                self._save_epochs()
                self._recovery_point = self.log_end_offset
        self.discard()

    def discard(self) -> None:
        """Take no more appends and let go of the active file (the log is closed, or its partition was
        deleted).
        """
        self._failed = StorageError(self.directory, "the log is closed")
        self._active.release()

    @property
    def is_failed(self) -> bool:
        """Whether the log takes no more appends: after a fault of the disk, or because it was closed."""
        return self._failed is not None

    # -- writing ---------------------------------------------------------------------------------------------

    def append_as_leader(
        self,
        batch: memoryview,
        header: BatchHeader,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> AppendResult:
        """Append one validated batch: give it offsets and the epoch (in place) and write it with one system
        call.

        Producer checks are made here, in the same breath as the offsets. Raises StorageError.
        """
        size = header.batch_length + LOG_OVERHEAD
        if size > self.config.segment_bytes:
            return self._refuse(ErrorCode.RECORD_LIST_TOO_LARGE)
        marker = None
        if header.producer_id >= 0:
            if header.is_control:
                marker = read_marker(batch)
            refusal = self._check_producer(header, marker, origin)
            if refusal is not None:
                return refusal
        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        timestamp = header.max_timestamp
        append_time = NO_APPEND_TIME
        if self._stamps:
            set_log_append_time(batch, 0, now_ms)
            timestamp = append_time = now_ms
        if leader_epoch != self._epochs.latest or self._epochs_unsaved:
            self._begin_epoch(leader_epoch, base_offset)
        assign(batch, 0, base_offset, leader_epoch)
        self._write(batch, size, base_offset, last_offset, timestamp, now_ms)
        if header.producer_id >= 0:
            self._note_producer(header, marker, base_offset, timestamp)
        if last_offset - self._recovery_point >= self.config.flush_messages:
            self.flush()
        return AppendResult(ErrorCode.NONE, base_offset, last_offset, append_time, self.log_start_offset)

    def append_as_follower(self, batches: memoryview, now_ms: int) -> AppendResult:
        """Append whole batches from a leader as they are; a last one that is cut short is ignored.

        CORRUPT_MESSAGE on a bad CRC or magic, OFFSET_OUT_OF_RANGE where offsets go back; nothing is written
        then.
        """
        found = list(iter_headers(batches))
        expected = self.log_end_offset
        for position, header in found:
            if header.magic != MAGIC or not crc_matches(batches, position, header.size):
                return self._refuse(ErrorCode.CORRUPT_MESSAGE)
            if header.base_offset < expected or header.last_offset_delta < 0:
                return self._refuse(ErrorCode.OFFSET_OUT_OF_RANGE)
            expected = header.next_offset
        first_offset = found[0][1].base_offset if found else NO_OFFSET
        for position, header in found:
            batch = batches[position : position + header.size]
            marker = read_marker(batch) if header.is_control and header.producer_id >= 0 else None
            if header.leader_epoch != self._epochs.latest or self._epochs_unsaved:
                self._begin_epoch(header.leader_epoch, header.base_offset)
            base_offset = header.base_offset
            self._write(batch, header.size, base_offset, header.last_offset, header.max_timestamp, now_ms)
            if header.producer_id >= 0:
                self._note_producer(header, marker, base_offset, header.max_timestamp)
        if expected - self._recovery_point > self.config.flush_messages:
            self.flush()
        return AppendResult(ErrorCode.NONE, first_offset, expected - 1, NO_APPEND_TIME, self.log_start_offset)

    def _write(
        self, batch: memoryview, size: int, base_offset: int, last_offset: int, timestamp: int, now_ms: int
    ) -> None:
        if self._failed is not None:
            raise self._failed
        segment = self._active
        try:
            if segment.must_roll(size, last_offset, timestamp, now_ms):
                segment = self._roll(base_offset, now_ms)
            segment.append(batch, size, last_offset, timestamp)
        except OSError as error:
            raise self._fault(error) from error
        self.log_end_offset = last_offset + 1
        self.size += size

    def _refuse(self, error: ErrorCode) -> AppendResult:
        return AppendResult(error, NO_OFFSET, NO_OFFSET, NO_APPEND_TIME, self.log_start_offset)

    def _fault(self, error: OSError) -> StorageError:
        """After anything but a full disk the log takes no more appends until it is opened again
        (KAFKA-10778).
        """
        fault = self.context.fault(error)
        if self.context.offline is not None:
            self._failed = fault
        return fault

    # -- producers -------------------------------------------------------------------------------------------

    def _check_producer(
        self, header: BatchHeader, marker: EndTransactionMarker | None, origin: AppendOrigin
    ) -> AppendResult | None:
        """The answer to a batch that is refused or was appended before; None if it may be appended."""
        if marker is not None:
            error = self.producer_state.check_marker(header, marker)
            return self._refuse(error) if error else None
        found = self.producer_state.check(header, origin)
        if isinstance(found, BatchMetadata):
            return AppendResult(
                ErrorCode.NONE,
                found.first_offset,
                found.last_offset,
                found.timestamp,
                self.log_start_offset,
                True,
            )
        return self._refuse(found) if found else None

    def _note_producer(
        self, header: BatchHeader, marker: EndTransactionMarker | None, base_offset: int, timestamp: int
    ) -> None:
        state = self.producer_state
        state.end_offset = self.log_end_offset
        if marker is not None:
            aborted = state.complete(header, base_offset, marker)
            if aborted is not None:
                try:
                    self._active.txn_index.append(aborted)
                except OSError as error:
                    raise self._fault(error) from error
        elif not header.is_control:
            state.update(header, base_offset, timestamp)

    @property
    def producers(self) -> list[ProducerEntry]:
        """The producers that are known here (DescribeProducers)."""
        return list(self.producer_state.entries.values())

    def expire_producers(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that were silent for `producer.id.expiration.ms` and have no open transaction."""
        self.producer_state.expire(now_ms, expiration_ms)

    @property
    def first_unstable_offset(self) -> int | None:
        """First offset of the earliest open transaction."""
        return self.producer_state.first_open_offset

    def last_stable_offset(self, high_watermark: int) -> int:
        """Where read_committed stops: also a transaction whose marker is not below the high watermark counts
        (I13).
        """
        unstable = self.producer_state.first_unstable_offset(high_watermark)
        return high_watermark if unstable is None else min(unstable, high_watermark)

    def _save_snapshot(self) -> None:
        self.producer_state.end_offset = self.log_end_offset
        path = f"{self.directory}/{segment_name(self.log_end_offset, SNAPSHOT)}"
        self.context.files.replace_file(
            path, encode_snapshot(self.producer_state.entries.values()), sync=False
        )

    # -- epochs ----------------------------------------------------------------------------------------------

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch in the log; -1 when there is none."""
        return self._epochs.latest

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Note a leader epoch that begins now, before it has data. An empty log stores it with its first
        append.
        """
        if self._epochs.assign(epoch, start_offset):
            self._epochs_unsaved = True
            if self.log_end_offset > 0:
                self._save_epochs()

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(largest epoch <= `epoch`, where it ends); (-1, -1) when that is unknown here (KIP-101)."""
        return self._epochs.end_offset_for(epoch, self.log_end_offset)

    def epoch_of(self, offset: int) -> int:
        """The leader epoch that `offset` was written in; -1 when unknown."""
        return self._epochs.epoch_for(offset)

    def _begin_epoch(self, epoch: int, base_offset: int) -> None:
        if self._failed is not None:
            raise self._failed
        if self._epochs.assign(epoch, base_offset) or self._epochs_unsaved:
            self._save_epochs()

    def _save_epochs(self, *, sync: bool = False) -> None:
        path = f"{self.directory}/{LEADER_EPOCH_CHECKPOINT}"
        self._epochs_unsaved = True
        try:
            self.context.files.replace_file(path, format_epochs(self._epochs.entries), sync=sync)
        except OSError as error:
            raise self._fault(error) from error
        self._epochs_unsaved = False

    # -- reading ---------------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, upper_offset: int, min_one_batch: bool = True
    ) -> FileRange | None:
        """Bytes of one segment from the batch that holds `offset`, none at or above `upper_offset`; None if
        there are none.

        Cut at `max_bytes`, maybe inside a batch; `min_one_batch` gives the first batch whole whatever its
        size. `offset` lies between log start and log end. Raises StorageError.
        """
        at = bisect_right(self._bases, offset) - 1
        upper = None if upper_offset >= self.log_end_offset else upper_offset
        segments = self._segments
        try:
            while 0 <= at < len(segments):
                segment = segments[at]
                bound = (
                    upper if segment is self._active or upper is None or upper < self._bases[at + 1] else None
                )
                found = segment.read(offset, max_bytes, bound, min_one_batch)
                if found is not None or bound is not None:
                    return found
                at += 1  # offsets were compacted away at the end of the segment: go on with the next
        except OSError as error:
            raise self._fault(error) from error
        return None

    def aborted_transactions(
        self, offset: int, upper_offset: int, data: FileRange | None = None
    ) -> list[tuple[int, int]]:
        """(producer id, first offset) of aborted transactions in [offset, upper_offset), or in `data` read
        from there.
        """
        at = bisect_right(self._bases, offset) - 1
        if data is not None:
            beyond = self._segments[at].first_offset_beyond(data.position + data.length)
            bound = beyond if beyond is not None else self._next_base(at)
            upper_offset = min(upper_offset, max(bound, offset + 1))
        found: list[tuple[int, int]] = []
        for segment in self._segments[max(at, 0) :]:
            entries, complete = segment.txn_index.overlapping(offset, upper_offset)
            found += [(entry.producer_id, entry.first_offset) for entry in entries]
            if complete:
                break
        return found

    def _next_base(self, at: int) -> int:
        return self._bases[at + 1] if at + 1 < len(self._bases) else self.log_end_offset

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record at or after `timestamp` (ms), at or above the log start."""
        return timestamps.find(self._segments, timestamp, self.log_start_offset)

    def max_timestamp_offset(self) -> TimestampOffset | None:
        """The first record with the largest timestamp of the log (KIP-734)."""
        return timestamps.find_max(self._segments)

    # -- rolling and flushing --------------------------------------------------------------------------------

    def roll(self, now_ms: int) -> None:
        """Begin a new segment at the log end, unless the active one is still empty."""
        if self._active.size:
            try:
                self._roll(self.log_end_offset, now_ms)
            except OSError as error:
                raise self._fault(error) from error

    def _roll(self, base_offset: int, now_ms: int) -> Segment:
        """Begin a segment at `base_offset` (>= log end); the older one is written out and synced in the
        background.
        """
        full = self._active
        segment = Segment(self.context.files, self.directory, base_offset, self.config, now_ms)
        if full.size == 0:
            self._drop_segments([full], now=True)
            del self._segments[-1], self._bases[-1]
            segment.create()
        else:
            self._save_snapshot()
            segment.create()
            full.retire()
            self._flush_aside(full, base_offset)
        self._segments.append(segment)
        self._bases.append(base_offset)
        self._active = segment
        return segment

    def _flush_aside(self, segment: Segment, offset: int) -> None:
        pending = _PendingFlush(offset)
        self._flushes.append(pending)

        def work() -> None:
            try:
                segment.sync()
            except OSError as error:
                pending.error = error
            pending.done = True

        self.context.run(work)

    @property
    def recovery_point(self) -> int:
        """Everything below this offset is on the device."""
        while self._flushes and self._flushes[0].done:
            flush = self._flushes.pop(0)
            if flush.error is not None:
                self._fault(flush.error)
            else:
                self._recovery_point = max(self._recovery_point, min(flush.offset, self.log_end_offset))
        return self._recovery_point

    def flush_if_due(self, now_ms: int) -> None:
        """Flush when `flush.ms` have passed since the last time. Raises StorageError."""
        if now_ms - self.last_flush_ms >= self.config.flush_ms:
            self.flush(now_ms)

    def flush(self, now_ms: int | None = None) -> None:
        """Force everything to the device; the recovery point becomes the log end. Raises StorageError."""
        if now_ms is not None:
            self.last_flush_ms = now_ms
        if self.log_end_offset <= self.recovery_point and not self._epochs_unsaved:
            return
        try:
            self._save_epochs(sync=True)
            first = max(bisect_right(self._bases, self._recovery_point) - 1, 0)
            for segment in self._segments[first:]:
                segment.sync()
        except OSError as error:
            raise self._fault(error) from error
        self._recovery_point = self.log_end_offset

    # -- cutting ---------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> bool:
        """Remove everything from `offset` on. False if there was nothing (the epochs are cleaned all the
        same, KAFKA-10706).
        """
        assert offset >= 0, "an offset is not negative"
        if self._epochs.truncate_from_end(offset):
            self._save_epochs()
        if offset >= self.log_end_offset:
            return False
        if offset < self._bases[0]:
            self.truncate_fully_and_start_at(offset)
            return True
        from kcompat.log.loader import load_producers

        try:
            keep = bisect_right(self._bases, offset)
            self._drop_segments(self._segments[keep:], now=True)
            del self._segments[keep:], self._bases[keep:]
            self._active = self._segments[-1]
            self._active.truncate_to(offset)
            self._active.reopen(offset)
            self._drop_snapshots(above=offset)
            self._set_end(offset)
            self.producer_state = load_producers(self.context.files, self.directory, self._segments, offset)
        except OSError as error:
            raise self._fault(error) from error
        return True

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything and go on with an empty log at `offset`."""
        try:
            self._drop_segments(self._segments, now=True)
            self._drop_snapshots(above=-1)
            self._active = Segment(
                self.context.files, self.directory, offset, self.config, self.last_flush_ms
            )
            self._active.create()
            self._segments = [self._active]
            self._bases = [offset]
            self.producer_state = ProducerState(end_offset=offset)
            self._epochs.clear()
            self._save_epochs()
            self.log_start_offset = offset
            self._set_end(offset)
            self.context.log_start_moved()
        except OSError as error:
            raise self._fault(error) from error

    def _set_end(self, offset: int) -> None:
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self._recovery_point = min(self.recovery_point, offset)
        self._flushes = []
        self.size = sum(segment.size for segment in self._segments)

    def delete_records_before(self, offset: int) -> None:
        """Advance the log start (DeleteRecords, or a leader's answer); whole segments below it go with
        retention.

        It is stored before this returns. `offset` is at most the log end. Raises StorageError.
        """
        assert offset <= self.log_end_offset, "the log start cannot pass the log end"
        if offset > self.log_start_offset:
            self._advance_start(offset)
            try:
                self.context.log_start_moved()
            except OSError as error:
                raise self._fault(error) from error

    def _advance_start(self, offset: int) -> None:
        self.log_start_offset = offset
        if self._epochs.truncate_from_start(offset):
            self._epochs_unsaved = True

    def delete_old_segments(self, now_ms: int, high_watermark: int) -> int:
        """Apply retention by log start, size and time (ms); the number of segments that went. Raises
        StorageError.
        """
        try:
            count = retention.count_deletable(self._segments, self, now_ms, high_watermark)
            if count == len(self._segments):
                self._roll(self.log_end_offset, now_ms)
            if count:
                gone = self._segments[:count]
                del self._segments[:count], self._bases[:count]
                self._drop_segments(gone, now=False)
                self._advance_start(max(self.log_start_offset, self._bases[0]))
                self.size = sum(segment.size for segment in self._segments)
        except OSError as error:
            raise self._fault(error) from error
        return count

    def _drop_segments(self, segments: list[Segment], *, now: bool) -> None:
        files = self.context.files
        for segment in segments:
            marked = segment.mark_deleted()
            snapshot = f"{self.directory}/{segment_name(segment.base_offset, SNAPSHOT)}"
            if files.exists(snapshot):
                marked.append(snapshot)
            if now:
                files.remove(marked)
            else:
                self.context.delete_later(marked, self.config.file_delete_delay_ms)

    def _drop_snapshots(self, *, above: int) -> None:
        files = self.context.files
        names = [name for name in files.list(self.directory) if name.endswith(SNAPSHOT)]
        files.remove(f"{self.directory}/{name}" for name in names if (offset_of(name) or 0) > above)

    # -- looking in ------------------------------------------------------------------------------------------

    @property
    def segment_base_offsets(self) -> list[int]:
        """Base offsets of the segments, the active one last."""
        return list(self._bases)

    def segment_starts(self) -> list[tuple[int, int]]:
        """Base offset of each segment, and when its newest record was written (ms)."""
        return [
            (segment.base_offset, segment.largest_timestamp() if segment.size else segment.created_ms)
            for segment in self._segments
        ]

    def headers(self, offset: int) -> Iterator[BatchHeader]:
        """The batch headers from the one that holds `offset` on."""
        for segment in self._segments[max(bisect_right(self._bases, offset) - 1, 0) :]:
            for _, header in segment.headers(offset):
                yield header

    def check_invariants(self) -> None:
        """Assert I10, I11, I14 and what this class promises about its parts."""
        assert self.log_start_offset <= self.log_end_offset
        assert self.recovery_point <= self.log_end_offset
        assert self._bases == sorted(set(self._bases)) == [segment.base_offset for segment in self._segments]
        assert self._active is self._segments[-1]
        assert self.size == sum(segment.size for segment in self._segments)
        expected = self._bases[0]
        for header in self.headers(self._bases[0]):
            assert header.size >= HEADER_SIZE
            assert header.base_offset >= expected
            expected = header.next_offset
        assert expected <= self.log_end_offset
        self._epochs.check_invariants()
        self.producer_state.check_invariants()
