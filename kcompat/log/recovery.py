"""Checking a segment batch by batch after an unclean stop, and cutting it where it stops making sense
(LogSegment.recover).

Kafka trusts every batch whose CRC is right. But base offset, leader epoch and magic lie outside the CRC, so a
flipped bit there would survive and be served. Here a batch must also have a known magic, lie above the one
before it and below the next segment, and carry the leader epoch that the epoch checkpoint says (it is written
before the first batch of an epoch). Where the order breaks, the batch before may be the damaged one: if it
was the one that jumped ahead, it goes too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kcompat.log.epochs import UNDEFINED
from kcompat.log.scan import walk_valid
from kcompat.log.segment import MAX_RELATIVE_OFFSET, NO_TIMESTAMP, newest_timestamp
from kcompat.log.split import SegmentOverflowError
from kcompat.records.batch import BatchHeader, read_header
from kcompat.records.control import read_marker
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import MAGIC

if TYPE_CHECKING:
    from kcompat.log.epoch_file import EpochFile
    from kcompat.log.epochs import LeaderEpochCache
    from kcompat.log.producers import ProducerState
    from kcompat.log.segment import Segment


class _Found(msgspec.Struct):
    """A batch that is intact in itself."""

    position: int
    batch: memoryview
    base_offset: int
    last_offset: int
    timestamp: int
    epoch: int
    header: BatchHeader | None


class SegmentRecovery:
    """Rebuilds one segment's indexes, and what its batches say of epochs and producers.

    `limit` is the base offset of the next segment; `known_epochs` what the epoch checkpoint holds, None if it
    could not be read; `producers` stands at the segment's base offset and is brought to its end.
    """

    def __init__(
        self,
        segment: Segment,
        epochs: EpochFile,
        producers: ProducerState,
        *,
        limit: int | None,
        known_epochs: LeaderEpochCache | None,
    ) -> None:
        self._segment = segment
        self._epochs = epochs
        self._producers = producers
        self._known_epochs = known_epochs
        highest = segment.base_offset + MAX_RELATIVE_OFFSET
        self._highest = highest if limit is None else min(highest, limit - 1)
        self._limit = limit or 0
        self._end = 0

    def run(self) -> bool:
        """Recover the segment; False if anything was cut off it. Raises SegmentOverflowError, OSError."""
        segment = self._segment
        segment.begin_recovery()
        whole = segment.size
        pending: _Found | None = None
        before = after = (segment.base_offset, -1)
        for position, batch in walk_valid(segment.file, whole):
            found = _describe(position, batch)
            if found is None or not self._fits(found, *after):
                if found is not None and self._goes_too_far(found, *after):
                    raise SegmentOverflowError(segment.base_offset, position)
                if found is not None and pending is not None and self._belies(found, pending, *before):
                    pending = None
                break
            if pending is not None:
                self._accept(pending)
            pending = found
            before, after = after, (found.last_offset + 1, found.epoch)
        if pending is not None:
            self._accept(pending)
        segment.end_recovery(self._end)
        return self._end == whole

    def _fits(self, found: _Found, next_offset: int, epoch: int) -> bool:
        """Whether a batch may follow: `next_offset` is the first free offset, `epoch` the newest so far."""
        return found.last_offset <= self._highest and self._follows(found, next_offset, epoch)

    def _goes_too_far(self, found: _Found, next_offset: int, epoch: int) -> bool:
        """Whether nothing is wrong but the distance to the base offset, as in segments that were compacted.
        Those are never the last.
        """
        return self._highest < found.last_offset < self._limit and self._follows(found, next_offset, epoch)

    def _follows(self, found: _Found, next_offset: int, epoch: int) -> bool:
        if not next_offset <= found.base_offset <= found.last_offset:
            return False
        return found.epoch >= epoch and self._has_its_epoch(found)

    def _has_its_epoch(self, found: _Found) -> bool:
        """Whether the epoch is the one in the checkpoint, which has forgotten those below the log start."""
        known = self._known_epochs
        if known is None:
            return True
        epoch = known.epoch_for(found.base_offset)
        return found.epoch <= known.oldest if epoch == UNDEFINED else found.epoch == epoch

    def _belies(self, found: _Found, earlier: _Found, next_offset: int, epoch: int) -> bool:
        """Whether `earlier` is the wrong one: it jumped ahead, and `found` fits where it should have been."""
        length = earlier.last_offset - earlier.base_offset + 1
        jumped = earlier.base_offset > next_offset or earlier.epoch > epoch
        return jumped and self._fits(found, next_offset + length, epoch)

    def _accept(self, found: _Found) -> None:
        size = len(found.batch)
        header = found.header
        timestamp = found.timestamp if header is None else newest_timestamp(header)
        self._segment.recovered(found.position, size, found.last_offset, timestamp)
        self._end = found.position + size
        if found.epoch > self._epochs.cache.latest:
            self._epochs.assign(found.epoch, found.base_offset)
        if header is None or header.producer_id < 0:
            return
        self._producers.end_offset = found.last_offset + 1
        if not header.is_control:
            self._producers.update(header, found.base_offset, found.timestamp)
            return
        marker = read_marker(found.batch)
        if marker is not None:
            aborted = self._producers.complete(header, found.base_offset, marker)
            if aborted is not None:
                self._segment.txn_index.append(aborted)


def _describe(position: int, batch: memoryview) -> _Found | None:
    """What the batch says of itself; None if a control batch cannot be read. Old formats have no epoch."""
    magic = batch[16]
    if magic == MAGIC:
        header = read_header(batch)
        if header.is_control and header.producer_id >= 0 and not _is_readable(batch):
            return None
        return _Found(
            position,
            batch,
            header.base_offset,
            header.last_offset,
            header.max_timestamp,
            header.leader_epoch,
            header,
        )
    offset = int.from_bytes(batch[:8], "big", signed=True)
    timestamp = int.from_bytes(batch[18:26], "big", signed=True) if magic == 1 else NO_TIMESTAMP
    return _Found(position, batch, offset, offset, timestamp, -1, None)


def _is_readable(batch: memoryview) -> bool:
    try:
        read_marker(batch)
    except RecordsDamaged:
        return False
    return True
