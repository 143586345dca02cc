"""Creating a log, and loading one from its directory after a clean or an unclean stop (Kafka's LogLoader)."""

from __future__ import annotations

import logging
from bisect import bisect_right
from typing import TYPE_CHECKING

from kcompat.log.checkpoints import (
    CheckpointDamaged,
    parse_epochs,
    parse_partition_metadata,
    read_optional,
)
from kcompat.log.context import LogContext
from kcompat.log.epoch_file import EpochFile
from kcompat.log.epochs import LeaderEpochCache
from kcompat.log.log import Log
from kcompat.log.names import LEADER_EPOCH_CHECKPOINT, LOG, PARTITION_METADATA, SNAPSHOT, offset_of
from kcompat.log.producer_files import load_producers, renew_snapshot, snapshot_path
from kcompat.log.producers import ProducerState
from kcompat.log.recovery import SegmentRecovery
from kcompat.log.segment import Segment
from kcompat.log.segments import Segments
from kcompat.log.split import SegmentOverflowError, split_segment
from kcompat.log.startup import finish_interrupted_work, remove_orphans
from kcompat.logger_names import UNIFIED_LOG
from kcompat.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.config import LogConfig
    from kcompat.log.files import Files

logger = logging.getLogger(UNIFIED_LOG)


def create_log(
    directory: Path | str,
    topic: str,
    partition: int,
    config: LogConfig,
    *,
    topic_id: bytes,
    now_ms: int,
    context: LogContext | None = None,
) -> Log:
    """Return a new, empty log; `Log.make` or its first append creates its directory."""
    path = str(directory)
    context = context or LogContext(path)
    files = context.files
    return Log(
        path,
        topic,
        partition,
        topic_id,
        config,
        context,
        segments=Segments([Segment(files, path, 0, config, now_ms)]),
        epochs=EpochFile(files, path, LeaderEpochCache()),
        producers=ProducerState(),
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        now_ms=now_ms,
        is_made=False,
    )


def open_log(
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
    """Load a log from its directory.

    Unless the last stop was clean, batches above `recovery_point` are checked one by one. OSError passes
    through.
    """
    loader = LogLoader(str(directory), config, context, now_ms)
    return loader.load(topic, partition, None if clean else recovery_point, log_start_offset)


class LogLoader:
    """Loader of one log directory, with the state of its steps. OSError passes through."""

    def __init__(self, directory: str, config: LogConfig, context: LogContext | None, now_ms: int) -> None:
        self._directory = directory
        self._config = config
        self._context = context or LogContext(directory)
        self._files: Files = self._context.files
        self._now_ms = now_ms
        self._names: list[str] = []
        self._segments: list[Segment] = []
        self._suspects: set[int] = set()
        self._flushed = 0  # segments
        self._hole: int | None = None
        self._epochs = EpochFile(self._files, directory, LeaderEpochCache())
        self._known_epochs: LeaderEpochCache | None = None
        self._producers: ProducerState | None = None

    def load(self, topic: str, partition: int, recovery_point: int | None, log_start_offset: int) -> Log:
        """Load the log; `recovery_point` is None after a clean stop."""
        try:
            return self._load(topic, partition, recovery_point, log_start_offset)
        except SegmentOverflowError as overflow:
            logger.warning("%s: %s, and is split there", self._directory, overflow)
            split_segment(self._files, self._directory, overflow.base_offset, overflow.position)
            again = LogLoader(self._directory, self._config, self._context, self._now_ms)
            return again.load(topic, partition, recovery_point, log_start_offset)

    def _load(self, topic: str, partition: int, recovery_point: int | None, log_start_offset: int) -> Log:
        self._names = finish_interrupted_work(self._files, self._directory)
        remove_orphans(self._files, self._directory, self._names)
        self._load_segments(recovery_point)
        self._load_epochs()
        self._recover()
        log_end_offset = self._segments[-1].read_next_offset()
        log_start_offset = max(log_start_offset, self._segments[0].base_offset)
        if log_end_offset < log_start_offset:
            self._start_empty_at(log_start_offset, log_end_offset)
            log_end_offset = log_start_offset
        self._find_epochs_below(log_start_offset)
        self._epochs.truncate(start=log_start_offset, end=log_end_offset)
        self._epochs.save()
        self._segments[-1].reopen(log_end_offset)
        self._remove_stray_snapshots(log_end_offset)
        return Log(
            self._directory,
            topic,
            partition,
            self._read_topic_id(),
            self._config,
            self._context,
            segments=Segments(self._segments),
            epochs=self._epochs,
            producers=self._producers_at(log_end_offset),
            log_start_offset=log_start_offset,
            log_end_offset=log_end_offset,
            recovery_point=log_end_offset if recovery_point is None else min(recovery_point, log_end_offset),
            now_ms=self._now_ms,
            hole=self._hole,
        )

    def _load_segments(self, recovery_point: int | None) -> None:
        """Load the segments and find the suspect ones.

        A segment is suspect if its indexes are unsound, or if it reaches beyond the recovery point; indexes
        of the latter are not read.
        """
        offsets = [offset_of(name) for name in self._names if name.endswith(LOG)]
        bases = [offset for offset in offsets if offset is not None]
        self._flushed = len(bases)
        if recovery_point is not None:
            self._flushed = max(bisect_right(bases, recovery_point) - 1, 0)
        for number, base in enumerate(bases or [0]):
            segment = Segment(self._files, self._directory, base, self._config, self._now_ms)
            self._segments.append(segment)
            segment.adopt()
            is_new = segment.size == 0 and number >= len(bases) - 1
            if (number >= self._flushed and not is_new) or (bases and not segment.load()):
                self._suspects.add(number)

    def _load_epochs(self) -> None:
        """Read the leader epochs; if the file is missing or damaged, collect them from the segments that are
        not suspect.
        """
        path = f"{self._directory}/{LEADER_EPOCH_CHECKPOINT}"
        if LEADER_EPOCH_CHECKPOINT in self._names:
            try:
                entries = parse_epochs(self._files.read_file(path))
            except CheckpointDamaged as damage:
                logger.warning("%s is damaged (%s): rebuilding it", path, damage)
                self._epochs.clear()
            else:
                if entries:
                    self._epochs = EpochFile(self._files, self._directory, LeaderEpochCache(entries))
                    self._known_epochs = LeaderEpochCache(entries)
                    return
        first = min(self._suspects, default=len(self._segments))
        self._suspects.update(range(first, len(self._segments)))
        for segment in self._segments[:first]:
            for _, header in segment.headers(segment.base_offset):
                if header.leader_epoch > self._epochs.latest:
                    self._epochs.assign(header.leader_epoch, header.base_offset)

    def _find_epochs_below(self, log_start_offset: int) -> None:
        """Restore epochs that the file lacks after a crash between two steps of advancing the log start.

        The file was already cut for the new log start, which was not stored yet.
        """
        known = self._epochs.cache.entries
        if not known or known[0][1] <= log_start_offset:
            return
        self._epochs.clear()
        for segment in self._segments:
            if segment.base_offset >= known[0][1]:
                break
            for _, header in segment.headers(max(segment.base_offset, log_start_offset)):
                if header.base_offset >= known[0][1]:
                    break
                self._epochs.assign(header.leader_epoch, max(header.base_offset, log_start_offset))
        for epoch, start_offset in known:
            self._epochs.assign(epoch, start_offset)

    def _recover(self) -> None:
        """Check the suspect segments; after one that had to be cut, delete all later segments."""
        for number in sorted(self._suspects):
            if not self._recover_segment(number):
                self._drop_after(number)
                break

    def _recover_segment(self, number: int) -> bool:
        segment = self._segments[number]
        limit = self._segments[number + 1].base_offset if number + 1 < len(self._segments) else None
        if self._producers is None or self._producers.end_offset != segment.base_offset:
            below = self._segments[:number] or [segment]
            self._producers = load_producers(self._files, self._directory, below, segment.base_offset)
        recovery = SegmentRecovery(
            segment,
            self._epochs,
            self._producers,
            limit=limit,
            known_epochs=self._known_epochs,
        )
        size = segment.size
        reason = recovery.run()
        whole = reason is None
        if not whole:
            logger.warning(
                "%s%s was cut from %d to %d bytes: %s", segment.path, LOG, size, segment.size, reason
            )
        elif limit is not None and number >= self._flushed and self._hole is None:
            end = segment.read_next_offset()
            self._hole = end if end < limit else None
        if whole and limit is not None:
            renew_snapshot(self._files, self._directory, limit, self._producers)
            self._producers.end_offset = limit
        else:
            self._producers.end_offset = segment.read_next_offset()
        return whole

    def _drop_after(self, number: int) -> None:
        later = self._segments[number + 1 :]
        del self._segments[number + 1 :]
        for segment in later:
            logger.warning(
                "%s%s (%d bytes) was deleted: it lies after the point where the log was cut",
                segment.path,
                LOG,
                segment.size,
            )
            self._files.remove(segment.names)

    def _start_empty_at(self, offset: int, log_end_offset: int) -> None:
        """Replace all segments with an empty one at `offset`: the log ends before its checkpointed start, so
        nothing in it is valid.
        """
        logger.warning(
            "%s was emptied (%d bytes) and begins at offset %d: it ended at offset %d, before that log start",
            self._directory,
            sum(segment.size for segment in self._segments),
            offset,
            log_end_offset,
        )
        for segment in self._segments:
            self._files.remove(segment.names)
        self._segments = [Segment(self._files, self._directory, offset, self._config, self._now_ms)]
        self._segments[0].create()
        self._producers = None

    def _remove_stray_snapshots(self, log_end_offset: int) -> None:
        """Remove all snapshots but those at segment bases and the newest above the active segment's base."""
        names = [name for name in self._names if name.endswith(SNAPSHOT)]
        offsets = [offset for offset in map(offset_of, names) if offset is not None]
        above = [offset for offset in offsets if self._segments[-1].base_offset < offset <= log_end_offset]
        keep = {segment.base_offset for segment in self._segments}
        keep.update(above[-1:])
        self._files.remove(snapshot_path(self._directory, offset) for offset in offsets if offset not in keep)

    def _producers_at(self, log_end_offset: int) -> ProducerState:
        """Return the producer state at the log end: from recovery if it reached that far, else from snapshots
        and batches.
        """
        if self._producers is not None and self._producers.end_offset == log_end_offset:
            return self._producers
        return load_producers(self._files, self._directory, self._segments, log_end_offset)

    def _read_topic_id(self) -> bytes:
        path = f"{self._directory}/{PARTITION_METADATA}"
        data = read_optional(self._files, path)
        if data is None:
            return ZERO_UUID
        try:
            return parse_partition_metadata(data)
        except CheckpointDamaged as damage:
            logger.warning("%s is damaged (%s)", path, damage)
            return ZERO_UUID
