"""One partition's log (Kafka's `UnifiedLog`): its offsets, epochs and producers. `LocalLog` has its files.

State changes only after the write that makes it true. Offset bounds are exclusive: `log_end_offset` is the
next offset to be written. The event loop is the only caller, so nothing is locked. Every method raises a disk
fault as StorageError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log import cutting, following, timestamps
from kcompat.log.append import BY_CLIENT, NO_APPEND_TIME, NO_OFFSET, AppendResult, AppendTerms
from kcompat.log.checkpoints import make_log_directory, store_topic_id
from kcompat.log.durability import Durability
from kcompat.log.local_log import LocalLog
from kcompat.log.producer_files import save_snapshot
from kcompat.log.producers import BatchMetadata, ProducerEntry, ProducerState
from kcompat.protocol.errors import NO_ERROR, ErrorCode
from kcompat.records.batch import BatchHeader, assign, set_log_append_time
from kcompat.records.control import EndTransactionMarker, read_marker
from kcompat.records.layout import LOG_OVERHEAD

if TYPE_CHECKING:
    from kcompat.log.config import LogConfig
    from kcompat.log.context import LogContext
    from kcompat.log.epoch_file import EpochFile
    from kcompat.log.files import FileRange
    from kcompat.log.flushes import Flush
    from kcompat.log.segment import Segment
    from kcompat.log.segments import Segments
    from kcompat.log.timestamps import TimestampOffset


class Log:
    """The log of one partition. Made by `kcompat.log.loader`."""

    __slots__ = (
        "_closed",
        "_stamps",
        "config",
        "context",
        "cuts",
        "directory",
        "durability",
        "epochs",
        "hole",
        "is_made",
        "local",
        "log_end_offset",
        "log_start_offset",
        "partition",
        "producer_state",
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
        is_made: bool = True,
        hole: int | None = None,
    ) -> None:
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.config = config
        self.context = context
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.producer_state = producers
        self.durability = Durability(context, config, recovery_point, now_ms)
        self.local = LocalLog(directory, context, segments)
        self.epochs = epochs
        self._stamps = config.stamps_append_time
        self._closed = False
        self.is_made = is_made
        """Whether the directory of the log is on the disk yet."""
        self.hole = hole  # an offset until the replica leads or follows: see `holes`
        self.cuts = 0
        """Number of times that the end of the log was truncated; data read before may be gone."""

    # -- opening and closing ---------------------------------------------------------------------------------

    def make(self) -> None:
        """Create the directory of a new log if it does not exist yet. Raises FileExistsError, OSError."""
        if not self.is_made:
            make_log_directory(self.context.files, self.directory, self.topic_id)
            self.is_made = True

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Store the id of the topic if the directory lacks it. Raises StorageError."""
        with self.context.faults():
            store_topic_id(self.context.files, self.directory, topic_id)
        self.topic_id = topic_id

    def update_config(self, config: LogConfig) -> None:
        """Apply changed topic configs from the next append on."""
        self.config = config
        self._stamps = config.stamps_append_time
        self.durability.configure(config)
        for segment in self.local.segments:
            segment.configure(config)

    @property
    def is_failed(self) -> bool:
        """Whether the log takes no more appends, as it was closed or had a disk fault (KAFKA-10778)."""
        return self._closed or self.context.offline is not None

    def close(self, *, sync: bool = True) -> None:
        """Snapshot the producers, write the indexes, flush.

        Without `sync` the caller syncs the file system afterwards.
        """
        if not self.is_failed:
            with self.context.faults():
                self.make()
        if not self.is_failed and self.log_end_offset > 0:
            with self.context.faults():
                self._save_snapshot()
                self.local.segments.active.retire()
                self.epochs.save()
            if sync:
                self.flush()
            else:
                self.durability.flushes.finish(self.log_end_offset)
        self.discard()

    def discard(self) -> None:
        """Refuse all further appends and close the active file: the log is closed, or its partition was
        deleted.
        """
        self._closed = True
        self.local.segments.active.release()

    # -- writing ---------------------------------------------------------------------------------------------

    def append_as_leader(
        self,
        batch: memoryview,
        header: BatchHeader,
        leader_epoch: int,
        now_ms: int,
        terms: AppendTerms = BY_CLIENT,
    ) -> AppendResult:
        """Append one validated batch: set its offsets and epoch in place and write it with one system call.

        Producers are checked here, so that nothing comes between the check and the offsets. Raises
        StorageError.
        """
        size = header.batch_length + LOG_OVERHEAD
        assert size == len(batch), "one batch, all of it, and nothing else"
        if size > self.config.segment_bytes:
            return self._not_appended(ErrorCode.RECORD_LIST_TOO_LARGE)
        marker = None
        if header.producer_id >= 0:
            if header.is_control:
                marker = terms.marker or read_marker(batch)
            found = self.producer_state.check(header, marker, terms)
            if found:
                return self._not_appended(found)
        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        timestamp = header.max_timestamp
        append_time = NO_APPEND_TIME
        if self._stamps:
            set_log_append_time(batch, 0, now_ms)
            timestamp = append_time = now_ms
        assign(batch, base_offset, leader_epoch)
        self._write(batch, leader_epoch, base_offset, last_offset, timestamp, now_ms)
        if header.producer_id >= 0:
            self.note_producer(header, marker, base_offset, timestamp)
        if self.log_end_offset >= self.durability.due_at:
            self.durability.hold(self, base_offset, now_ms)
        return AppendResult(NO_ERROR, base_offset, last_offset, append_time, self.log_start_offset)

    def _write(
        self, batch: memoryview, epoch: int, base_offset: int, last_offset: int, timestamp: int, now_ms: int
    ) -> None:
        if self._closed or self.context.offline is not None:
            raise self.context.out_of_service(f"{self.directory} is closed")
        size = len(batch)
        segment = self.local.segments.active
        try:
            if not self.is_made:
                self.make()
            if segment.must_roll(size, last_offset, timestamp, now_ms):
                segment = self.begin_segment(base_offset, now_ms)
            if epoch != self.epochs.current:
                self.epochs.assign(epoch, base_offset)
                self.epochs.save()
            segment.note(segment.write(batch, size), size, last_offset, timestamp)
        except OSError as error:
            raise self.context.fault(error) from error
        self.log_end_offset = last_offset + 1

    def append_as_follower(self, data: memoryview, leader_epoch: int, now_ms: int) -> AppendResult:
        """Append batches from the leader of `leader_epoch` unchanged, except those of a later epoch.

        If `following.check` finds an error, nothing is written. Raises StorageError.
        """
        found = following.check(data, self.log_end_offset, leader_epoch)
        if isinstance(found, ErrorCode):
            return self._not_appended(found)
        if self.is_failed:
            raise self.context.out_of_service(f"{self.directory} is closed")
        with self.context.faults():
            self.make()
            following.append(self, data, found, now_ms)
        if self.log_end_offset >= self.durability.due_at:
            self.flush(now_ms)
        first_offset = found[0].base_offset if found else NO_OFFSET
        last_offset = self.log_end_offset - 1
        return AppendResult(ErrorCode.NONE, first_offset, last_offset, NO_APPEND_TIME, self.log_start_offset)

    def _not_appended(self, reason: ErrorCode | BatchMetadata) -> AppendResult:
        """Return the result for a batch that was refused, or that the log already has."""
        start = self.log_start_offset
        if isinstance(reason, BatchMetadata):
            first, last = reason.first_offset, reason.last_offset
            return AppendResult(NO_ERROR, first, last, reason.timestamp, start, duplicate=True)
        return AppendResult(reason, NO_OFFSET, NO_OFFSET, NO_APPEND_TIME, start)

    # -- producers -------------------------------------------------------------------------------------------

    def note_producer(
        self, header: BatchHeader, marker: EndTransactionMarker | None, base_offset: int, timestamp: int
    ) -> None:
        """Record the producer of a batch just appended, and the marker if it is one. Raises StorageError."""
        aborted = self.producer_state.note(header, marker, base_offset, timestamp)
        if aborted is not None:
            # without the index entry the transaction would count as committed
            with self.context.faults(last=True):
                self.local.segments.active.txn_index.append(aborted)

    @property
    def producers(self) -> list[ProducerEntry]:
        """The producers that the log knows (DescribeProducers)."""
        return list(self.producer_state.entries.values())

    def _save_snapshot(self) -> None:
        save_snapshot(self.context.files, self.directory, self.log_end_offset, self.producer_state)

    # -- rolling and flushing --------------------------------------------------------------------------------

    def roll(self, now_ms: int) -> None:
        """Begin a new segment at the log end, unless the active one is still empty. Raises StorageError."""
        if self.local.segments.active.size:
            with self.context.faults():
                self.begin_segment(self.log_end_offset, now_ms)

    def begin_segment(self, base_offset: int, now_ms: int) -> Segment:
        """Begin a segment at `base_offset` (>= log end); the previous one is synced in the background."""
        is_full = self.local.segments.active.size > 0
        if is_full:
            self._save_snapshot()
        segment = self.local.roll(base_offset, now_ms)
        if is_full:
            self.durability.flushes.start(self.local.segments, base_offset)
        return segment

    @property
    def recovery_point(self) -> int:
        """Offset below which everything is on the device and nothing is missing."""
        point = self.durability.flushes.recovery_point
        return point if self.hole is None else min(point, self.hole)

    def begin_flush(self) -> Flush:
        """Sync the leader epochs; return the sync of the segments, which the caller runs. Raises OSError."""
        self.epochs.save(sync=True)
        return self.durability.flushes.everything(self.local.segments, self.log_end_offset, self.directory)

    def flush(self, now_ms: int | None = None) -> None:
        """Force everything to the device; the recovery point becomes the log end. Raises StorageError."""
        self.durability.flush(self, now_ms)

    # -- epochs ----------------------------------------------------------------------------------------------

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch <= `epoch` and its end offset; (-1, -1) when it is unknown (KIP-101)."""
        return self.epochs.cache.end_offset_for(epoch, self.log_end_offset)

    # -- cutting ---------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> bool:
        """Remove everything from `offset` on; return False if there was nothing. Raises StorageError."""
        with self.context.faults():
            self.make()
        with self.context.faults(last=True):
            return cutting.truncate_to(self, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Remove everything and continue with an empty log at `offset`. Raises StorageError."""
        with self.context.faults():
            self.make()
        with self.context.faults(last=True):
            cutting.truncate_fully_and_start_at(self, offset)

    def delete_records_before(self, offset: int) -> None:
        """Advance the log start to `offset`, at most the log end, and store it; retention then removes the
        segments.

        Raises StorageError.
        """
        with self.context.faults():
            cutting.delete_records_before(self, offset)

    def delete_old_segments(self, now_ms: int, high_watermark: int) -> int:
        """Delete segments by log start, size and time; return the number deleted. Raises StorageError."""
        with self.context.faults():
            return cutting.delete_old_segments(self, now_ms, high_watermark)

    def replace_segments(self, old: list[Segment]) -> None:
        """Replace these adjacent segments with the `.cleaned` files; the old files are removed later.

        If a step fails the directory goes offline; the next start finishes or undoes it. Raises StorageError.
        """
        with self.context.faults(last=True):
            self.local.replace(old, self.config.file_delete_delay_ms)

    # -- reading ---------------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, upper_offset: int, min_one_batch: bool = True
    ) -> FileRange | None:
        """Return bytes of one segment, from the batch that holds `offset` to below `upper_offset`; None if
        none.

        Cut at `max_bytes`, maybe inside a batch; `min_one_batch` gives the first batch whole whatever its
        size. `offset` lies between log start and log end. Raises StorageError.
        """
        upper = None if upper_offset >= self.log_end_offset else upper_offset
        try:
            return self.local.read(offset, max_bytes, upper, min_one_batch)
        except OSError as error:
            raise self.context.fault(error) from error

    def aborted_transactions(
        self, offset: int, upper_offset: int, data: FileRange | None = None
    ) -> list[tuple[int, int]]:
        """Return (producer id, first offset) of the transactions in [offset, upper_offset) that were aborted.

        With `data`, read from `offset`, only those that may concern it. Raises StorageError.
        """
        with self.context.faults():
            return self.local.aborted_transactions(offset, upper_offset, data)

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """Return the log's first record at or after `timestamp` (ms). Raises StorageError."""
        with self.context.faults():
            return timestamps.find(self.local.segments, timestamp, self.log_start_offset)

    def max_timestamp_offset(self) -> TimestampOffset | None:
        """Return the first record with the largest timestamp of the log (KIP-734). Raises StorageError."""
        with self.context.faults():
            return timestamps.find_max(self.local.segments)

    def segment_starts(self) -> list[tuple[int, int]]:
        """Return base offset and newest record's time (ms) of each segment. Raises StorageError."""
        with self.context.faults():
            return self.local.starts()

    # -- inspection ------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Bytes of all log files together."""
        return self.local.segments.size

    @property
    def write_position(self) -> int:
        """Position of the next batch in the active segment's file, unless a new segment begins with it."""
        return self.local.segments.active.size

    def check_invariants(self) -> None:
        """Assert that offsets are in order and that all parts are consistent."""
        assert self.log_start_offset <= self.log_end_offset
        assert self.recovery_point <= self.log_end_offset
        self.local.check_invariants(self.log_end_offset)
        self.epochs.cache.check_invariants()
        self.producer_state.check_invariants()
