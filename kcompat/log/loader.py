"""Creating a log, and loading one from its directory after a clean or an unclean stop (Kafka's LogLoader)."""

from __future__ import annotations

import logging
from bisect import bisect_right
from typing import TYPE_CHECKING

from kcompat.log.checkpoints import (
    CheckpointDamaged,
    format_epochs,
    format_partition_metadata,
    parse_epochs,
    parse_partition_metadata,
    read_optional,
)
from kcompat.log.context import LogContext
from kcompat.log.epochs import LeaderEpochCache
from kcompat.log.log import Log
from kcompat.log.names import (
    LEADER_EPOCH_CHECKPOINT,
    LOG,
    PARTITION_METADATA,
    SNAPSHOT,
    offset_of,
    segment_name,
)
from kcompat.log.producer_snapshot import decode_snapshot, encode_snapshot
from kcompat.log.producers import ProducerState
from kcompat.log.recovery import SegmentRecovery
from kcompat.log.segment import Segment
from kcompat.log.startup import finish_interrupted_work, remove_orphans
from kcompat.records.control import read_marker

if TYPE_CHECKING:
    from kcompat.log.config import LogConfig
    from kcompat.log.files import Files

logger = logging.getLogger(__name__)

NO_TOPIC_ID = bytes(16)


def create_log(
    directory: str,
    topic: str,
    partition: int,
    config: LogConfig,
    *,
    topic_id: bytes,
    now_ms: int,
    context: LogContext | None = None,
) -> Log:
    """A new, empty log: one directory and its `partition.metadata`. Raises FileExistsError, OSError."""
    context = context or LogContext(directory)
    context.files.make_directory(directory)
    context.files.write_file(f"{directory}/{PARTITION_METADATA}", format_partition_metadata(topic_id))
    segments = [Segment(context.files, directory, 0, config, now_ms)]
    return Log(
        directory, topic, partition, topic_id, config, context, segments, LeaderEpochCache(), ProducerState(),
        log_start_offset=0, log_end_offset=0, recovery_point=0, now_ms=now_ms,
    )  # fmt: skip


def open_log(
    directory: str,
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
    """Load a log; see `Log.open`. Raises OSError where files cannot be read or put right."""
    context = context or LogContext(directory)
    loader = _Loader(directory, config, context.files, now_ms)
    names = finish_interrupted_work(context.files, directory)
    remove_orphans(context.files, directory, names)
    loader.load_segments(names, None if clean else recovery_point)
    loader.load_epochs(names)
    loader.recover()
    log_end_offset = loader.log_end_offset()
    first_base = loader.segments[0].base_offset
    log_start_offset = max(log_start_offset, first_base)
    if log_end_offset < log_start_offset:
        logger.warning(
            "%s ends at %d, before its start %d: starting empty", directory, log_end_offset, log_start_offset
        )
        loader.start_empty_at(log_start_offset)
        log_end_offset = log_start_offset
    loader.fit_epochs(log_start_offset, log_end_offset)
    loader.segments[-1].reopen(log_end_offset)
    loader.remove_stray_snapshots(log_end_offset)
    return Log(
        directory, topic, partition, _read_topic_id(context.files, directory), config, context,
        loader.segments, loader.epochs,
        loader.producers or load_producers(context.files, directory, loader.segments, log_end_offset),
        log_start_offset=log_start_offset,
        log_end_offset=log_end_offset,
        recovery_point=log_end_offset if clean else min(recovery_point, log_end_offset),
        now_ms=now_ms,
    )  # fmt: skip


def load_producers(files: Files, directory: str, segments: list[Segment], end_offset: int) -> ProducerState:
    """The producers below `end_offset`: the newest snapshot that can be read, and the batches after it."""
    state, start = ProducerState(), segments[0].base_offset
    offsets = sorted(
        (
            offset
            for name in files.list(directory)
            if name.endswith(SNAPSHOT) and (offset := offset_of(name)) is not None
        ),
        reverse=True,
    )
    for offset in offsets:
        if start <= offset <= end_offset:
            path = f"{directory}/{segment_name(offset, SNAPSHOT)}"
            entries = decode_snapshot(files.read_file(path))
            if entries is not None:
                state, start = ProducerState(entries, offset), offset
                break
            logger.warning("%s is damaged: deleting it and using an older one", path)
            files.remove([path])
    if start < end_offset:
        replay_producers(state, segments, start)
    state.end_offset = end_offset
    return state


def replay_producers(state: ProducerState, segments: list[Segment], start: int) -> None:
    """Bring `state` up to the log end by the batches from `start` on."""
    bases = [segment.base_offset for segment in segments]
    for segment in segments[max(bisect_right(bases, start) - 1, 0) :]:
        for position, header in segment.headers(start):
            if header.producer_id < 0:
                continue
            state.end_offset = header.next_offset
            if not header.is_control:
                state.update(header, header.base_offset, header.max_timestamp)
                continue
            marker = read_marker(memoryview(segment.read_at(position, header.size)))
            if marker is not None:
                state.complete(header, header.base_offset, marker)


class _Loader:
    """The steps of loading one directory, and what they found so far."""

    def __init__(self, directory: str, config: LogConfig, files: Files, now_ms: int) -> None:
        self.directory = directory
        self.config = config
        self.files = files
        self.now_ms = now_ms
        self.segments: list[Segment] = []
        self.suspects: set[int] = set()
        self.epochs = LeaderEpochCache()
        self.known_epochs: set[int] | None = None
        self.epochs_changed = False
        self.producers: ProducerState | None = None

    def load_segments(self, names: list[str], recovery_point: int | None) -> None:
        """Take over the segment files. Suspect are those with unsound indexes, and all from the recovery
        point on.
        """
        for name in names:
            offset = offset_of(name) if name.endswith(LOG) else None
            if offset is not None:
                segment = Segment(self.files, self.directory, offset, self.config, self.now_ms)
                if not segment.load():
                    self.suspects.add(len(self.segments))
                self.segments.append(segment)
        if not self.segments:
            self.segments.append(Segment(self.files, self.directory, 0, self.config, self.now_ms))
        if recovery_point is not None:
            bases = [segment.base_offset for segment in self.segments]
            self.suspects.update(range(max(bisect_right(bases, recovery_point) - 1, 0), len(bases)))

    def load_epochs(self, names: list[str]) -> None:
        """Read the leader epochs; if the file is missing or damaged, find them in the batches that are not
        suspect.
        """
        path = f"{self.directory}/{LEADER_EPOCH_CHECKPOINT}"
        if LEADER_EPOCH_CHECKPOINT in names:
            try:
                entries = parse_epochs(self.files.read_file(path))
            except CheckpointDamaged as damage:
                logger.warning("%s is damaged (%s): rebuilding it", path, damage)
            else:
                if entries:
                    self.epochs = LeaderEpochCache(entries)
                    self.known_epochs = {epoch for epoch, _ in entries}
                    return
        first = min(self.suspects, default=len(self.segments))
        self.suspects.update(range(first, len(self.segments)))
        for segment in self.segments[:first]:
            for _, header in segment.headers(segment.base_offset):
                if header.leader_epoch > self.epochs.latest:
                    self.epochs.assign(header.leader_epoch, header.base_offset)
        self.epochs_changed = bool(self.epochs.entries)

    def recover(self) -> None:
        """Check the suspect segments; where one had to be cut, those after it go."""
        before = self.epochs.entries
        for number in sorted(self.suspects):
            if self.segments[number].size and not self._recover_segment(number):
                self._drop_after(number)
                break
        self.epochs_changed |= self.epochs.entries != before
        if self.producers is not None and self.producers.end_offset != self.log_end_offset():
            self.producers = None

    def _recover_segment(self, number: int) -> bool:
        segment = self.segments[number]
        limit = self.segments[number + 1].base_offset if number + 1 < len(self.segments) else None
        if self.producers is None or self.producers.end_offset != segment.base_offset:
            below = self.segments[:number] or [segment]
            self.producers = load_producers(self.files, self.directory, below, segment.base_offset)
        recovery = SegmentRecovery(
            segment, self.epochs, self.producers, limit=limit, known_epochs=self.known_epochs
        )
        whole = recovery.run()
        if not whole:
            logger.warning("%s%s was cut to %d bytes", segment.path, LOG, segment.size)
        self.producers.end_offset = limit if whole and limit is not None else segment.read_next_offset()
        if whole and limit is not None:
            self._save_snapshot(limit)
        return whole

    def _save_snapshot(self, offset: int) -> None:
        assert self.producers is not None
        path = f"{self.directory}/{segment_name(offset, SNAPSHOT)}"
        self.files.replace_file(path, encode_snapshot(self.producers.entries.values()), sync=False)

    def _drop_after(self, number: int) -> None:
        later = self.segments[number + 1 :]
        del self.segments[number + 1 :]
        for segment in later:
            logger.warning("deleting %s%s: it lies after the point where the log was cut", segment.path, LOG)
            self.files.remove(segment.names)

    def log_end_offset(self) -> int:
        """The offset after the last batch."""
        return self.segments[-1].read_next_offset()

    def start_empty_at(self, offset: int) -> None:
        """Drop all segments and begin one at `offset`."""
        for segment in self.segments:
            self.files.remove(segment.names)
        self.segments = [Segment(self.files, self.directory, offset, self.config, self.now_ms)]
        self.segments[0].create()

    def fit_epochs(self, log_start_offset: int, log_end_offset: int) -> None:
        """Cut the epochs to what the log holds, and store them if that changed anything."""
        changed = self.epochs.truncate_from_end(log_end_offset) if log_end_offset else False
        changed |= self.epochs.truncate_from_start(log_start_offset)
        if changed or self.epochs_changed:
            path = f"{self.directory}/{LEADER_EPOCH_CHECKPOINT}"
            self.files.replace_file(path, format_epochs(self.epochs.entries), sync=False)

    def remove_stray_snapshots(self, log_end_offset: int) -> None:
        """Keep the snapshots at segment bases, and the newest if it lies above the active segment's base."""
        found = {
            offset: f"{self.directory}/{name}"
            for name in self.files.list(self.directory)
            if name.endswith(SNAPSHOT) and (offset := offset_of(name)) is not None
        }
        if not found:
            return
        keep = {segment.base_offset for segment in self.segments}
        usable = [offset for offset in found if self.segments[-1].base_offset < offset <= log_end_offset]
        keep.update([max(usable)] if usable else [])
        self.files.remove(
            path for offset, path in found.items() if offset not in keep or offset > log_end_offset
        )


def _read_topic_id(files: Files, directory: str) -> bytes:
    data = read_optional(files, f"{directory}/{PARTITION_METADATA}")
    if data is None:
        return NO_TOPIC_ID
    try:
        return parse_partition_metadata(data)
    except CheckpointDamaged as damage:
        logger.warning("%s/%s is damaged: %s", directory, PARTITION_METADATA, damage)
        return NO_TOPIC_ID
