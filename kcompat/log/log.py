"""One partition's log (Kafka's `UnifiedLog` over `LocalLog`): append, read, roll, cut, flush.

State changes only after the write that makes it true. Offsets are exclusive at the top: `log_end_offset` is
the next one to be written. The event loop is the only caller, so nothing is locked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.log import retention
from kcompat.log.creation import make_log_directory, store_topic_id
from kcompat.log.local_log import LocalLog
from kcompat.log.producer_files import load_producers, remove_snapshots, save_snapshot
from kcompat.log.producers import AppendOrigin, BatchMetadata, ProducerEntry, ProducerState
from kcompat.log.segment import Segment
from kcompat.protocol.errors import NO_ERROR, ErrorCode
from kcompat.records.batch import BatchHeader, assign, crc_matches, iter_headers, set_log_append_time
from kcompat.records.control import EndTransactionMarker, read_marker
from kcompat.records.layout import LOG_OVERHEAD, MAGIC

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.config import LogConfig
    from kcompat.log.context import LogContext
    from kcompat.log.epoch_file import EpochFile
    from kcompat.log.flushes import Flush
    from kcompat.log.segments import Segments

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


class Log(LocalLog):
    """The log of one partition. Made by `Log.create` or `Log.open`."""

    __slots__ = ("_epochs", "_stamps", "is_made", "partition", "producer_state", "topic", "topic_id")

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
    ) -> None:
        super().__init__(
            directory,
            config,
            context,
            segments,
            log_start_offset=log_start_offset,
            log_end_offset=log_end_offset,
            recovery_point=recovery_point,
            now_ms=now_ms,
        )
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.producer_state = producers
        self._epochs = epochs
        self._stamps = config.stamps_append_time
        self.is_made = is_made
        """Whether there is anything of the log on the disk yet."""

    # -- opening and closing ---------------------------------------------------------------------------------

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
        """A new, empty log in a directory that does not exist yet. Segment files follow with the first
        append. Raises FileExistsError, OSError.
        """
        from kcompat.log.loader import create_log  # the loader builds logs, so it imports this module

        log = create_log(str(directory), topic, partition, topic_id, config, context, now_ms)
        log.make()
        return log

    def make(self) -> None:
        """Make the directory of a new log, if that is still to be done. Raises FileExistsError, OSError."""
        if not self.is_made:
            make_log_directory(self.context.files, self.directory, self.topic_id)
            self.is_made = True

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Note whose log this is, where its directory does not say so. Raises StorageError."""
        with self.context.faults():
            store_topic_id(self.context.files, self.directory, topic_id)
        self.topic_id = topic_id

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
        """Load a log. Unless the last stop was clean, what lies above `recovery_point` is checked batch by
        batch.
        """
        from kcompat.log.loader import LogLoader

        loader = LogLoader(str(directory), config, context, now_ms)
        return loader.load(topic, partition, None if clean else recovery_point, log_start_offset)

    def update_config(self, config: LogConfig) -> None:
        """Obey changed topic configs from the next append on."""
        self.config = config
        self._stamps = config.stamps_append_time
        self._flush_at = self.recovery_point + config.flush_messages
        for segment in self._segments:
            segment.configure(config)

    def close(self, *, sync: bool = True) -> None:
        """Snapshot the producers, write the indexes, flush. Without `sync` the caller syncs the file system
        after.
        """
        if not self.is_failed:
            with self.context.faults():
                self.make()
        if not self.is_failed and self.log_end_offset > 0:
            with self.context.faults():
                self._save_snapshot()
                self._segments.active.retire()
                self._epochs.save()
            if sync:
                self.flush()
            else:
                self._flushes.finish(self.log_end_offset)
        self.discard()

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
        assert size == len(batch), "one batch, all of it, and nothing else"
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
        assign(batch, 0, base_offset, leader_epoch)
        self._write(batch, leader_epoch, base_offset, last_offset, timestamp, now_ms)
        if header.producer_id >= 0:
            self._note_producer(header, marker, base_offset, timestamp)
        if self.log_end_offset >= self._flush_at:
            self._flush_after(base_offset, now_ms)
        return AppendResult(NO_ERROR, base_offset, last_offset, append_time, self.log_start_offset)

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
        for position, header in found:
            batch = batches[position : position + header.size]
            first, last, timestamp = header.base_offset, header.last_offset, header.max_timestamp
            self._write(batch, header.leader_epoch, first, last, timestamp, now_ms)
            if header.producer_id >= 0:
                self._note_producer(
                    header, read_marker(batch) if header.is_control else None, first, timestamp
                )
        if expected >= self._flush_at:
            self.flush(now_ms)
        first_offset = found[0][1].base_offset if found else NO_OFFSET
        return AppendResult(ErrorCode.NONE, first_offset, expected - 1, NO_APPEND_TIME, self.log_start_offset)

    def _write(
        self, batch: memoryview, epoch: int, base_offset: int, last_offset: int, timestamp: int, now_ms: int
    ) -> None:
        if self._closed or self.context.offline is not None:
            raise self._out_of_service()
        size = len(batch)
        segment = self._segments.active
        try:
            if not self.is_made:
                self.make()
            if segment.must_roll(size, last_offset, timestamp, now_ms):
                segment = self._roll(base_offset, now_ms)
            if epoch != self._epochs.current:
                self._epochs.assign(epoch, base_offset)
                self._epochs.save()
            segment.append(batch, size, last_offset, timestamp)
        except OSError as error:
            raise self.context.fault(error) from error
        self.log_end_offset = last_offset + 1
        self.size += size

    def _refuse(self, error: ErrorCode) -> AppendResult:
        return AppendResult(error, NO_OFFSET, NO_OFFSET, NO_APPEND_TIME, self.log_start_offset)

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
            first, last, start = found.first_offset, found.last_offset, self.log_start_offset
            return AppendResult(ErrorCode.NONE, first, last, found.timestamp, start, duplicate=True)
        return self._refuse(found) if found else None

    def _note_producer(
        self, header: BatchHeader, marker: EndTransactionMarker | None, base_offset: int, timestamp: int
    ) -> None:
        state = self.producer_state
        state.end_offset = self.log_end_offset
        if marker is not None:
            aborted = state.complete(header, base_offset, marker)
            if aborted is not None:
                with self.context.faults():
                    self._segments.active.txn_index.append(aborted)
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
        """Where read_committed stops; a transaction whose marker is not below the high watermark counts too
        (I13).
        """
        unstable = self.producer_state.first_unstable_offset(high_watermark)
        return high_watermark if unstable is None else min(unstable, high_watermark)

    def _save_snapshot(self) -> None:
        save_snapshot(self.context.files, self.directory, self.log_end_offset, self.producer_state)

    # -- rolling and flushing --------------------------------------------------------------------------------

    def _roll(self, base_offset: int, now_ms: int) -> Segment:
        if self._segments.active.size:
            self._save_snapshot()
        return super()._roll(base_offset, now_ms)

    def begin_flush(self) -> Flush:
        """See `LocalLog.begin_flush`; the leader epochs go to the device now."""
        self._epochs.save(sync=True)
        return super().begin_flush()

    # -- epochs ----------------------------------------------------------------------------------------------

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch in the log; -1 when there is none."""
        return self._epochs.cache.latest

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Note a leader epoch that begins now, before it has data. It is stored with its first append."""
        self._epochs.begin(epoch, start_offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(largest epoch <= `epoch`, where it ends); (-1, -1) when that is unknown here (KIP-101)."""
        return self._epochs.cache.end_offset_for(epoch, self.log_end_offset)

    def epoch_of(self, offset: int) -> int:
        """The leader epoch that `offset` was written in; -1 when unknown."""
        return self._epochs.cache.epoch_for(offset)

    # -- cutting ---------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> bool:
        """Remove everything from `offset` on. False if there was nothing; epochs are cut all the same
        (KAFKA-10706).

        Raises StorageError.
        """
        assert offset >= 0, "an offset is not negative"
        segments = self._segments
        with self.context.faults():
            self.make()
            self._epochs.truncate(end=offset)
            self._epochs.save()
            if offset >= self.log_end_offset:
                return False
            if offset < segments.first_base_offset:
                self.truncate_fully_and_start_at(offset)
                return True
            self._drop_newest_first(segments.take_above(offset))
            segments.active.truncate_to(offset)
            segments.active.reopen(offset)
            remove_snapshots(self.context.files, self.directory, above=offset)
            self._set_end(offset)
            self.context.log_cut()
            self.producer_state = load_producers(self.context.files, self.directory, list(segments), offset)
        return True

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything and go on with an empty log at `offset`. Raises StorageError."""
        with self.context.faults():
            self.make()
            old = list(self._segments)
            self._drop_newest_first(old)
            segment = Segment(self.context.files, self.directory, offset, self.config, self.last_flush_ms)
            segment.create()
            self._segments.replace(old, segment)
            remove_snapshots(self.context.files, self.directory, above=-1)
            self.producer_state = ProducerState(end_offset=offset)
            self._epochs.clear()
            self._epochs.save()
            self.log_start_offset = offset
            self._set_end(offset)
            self.context.log_cut()
            self.context.log_start_moved()

    def delete_records_before(self, offset: int) -> None:
        """Advance the log start (DeleteRecords, or a leader's answer); segments below it go with the next
        retention.

        It is stored before this returns. `offset` is at most the log end. Raises StorageError.
        """
        assert offset <= self.log_end_offset, "the log start cannot pass the log end"
        if offset > self.log_start_offset:
            with self.context.faults():
                self.log_start_offset = offset
                self.context.log_start_moved()  # first: no record is left without its epoch
                self._advance_start(offset)

    def _advance_start(self, offset: int) -> None:
        self.log_start_offset = offset
        self._epochs.truncate(start=offset)
        self._epochs.save()

    def delete_old_segments(self, now_ms: int, high_watermark: int) -> int:
        """Apply retention by log start, size and time (ms); the number of segments that went. Raises
        StorageError.
        """
        with self.context.faults():
            count = retention.count_deletable(self, list(self._segments), now_ms, high_watermark)
            if count == len(self._segments):
                self._roll(self.log_end_offset, now_ms)
            if count:
                self._drop(self._segments.take_front(count), delay_ms=self.config.file_delete_delay_ms)
                self._advance_start(max(self.log_start_offset, self._segments.first_base_offset))
                self.size = self._segments.size
        return count

    # -- looking in ------------------------------------------------------------------------------------------

    def check_invariants(self) -> None:
        """Assert I10, I11, I14 and what this class promises about its parts."""
        assert self.log_start_offset <= self.log_end_offset
        assert self.recovery_point <= self.log_end_offset
        assert self.size == self._segments.size
        self._segments.check_invariants()
        expected = self._segments.first_base_offset
        for header in self.headers(expected):
            assert header.base_offset >= expected
            expected = header.next_offset
        assert expected <= self.log_end_offset
        self._epochs.cache.check_invariants()
        self.producer_state.check_invariants()
