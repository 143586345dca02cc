"""Checking a segment batch by batch after an unclean stop, and cutting it at the first wrong batch
(LogSegment.recover).

Kafka trusts every batch whose CRC is right. But base offset, leader epoch and magic lie outside the CRC, so a
flipped bit there would survive and be served. Here a batch must also have a known magic, lie above the
previous batch and below the next segment, and have the leader epoch of the epoch checkpoint (which is written
before the first batch of an epoch). Where the order breaks, the previous batch may be the damaged one: if it
was the one that jumped ahead, it is removed too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.epochs import UNDEFINED
from kcompat.log.scan import FoundBatch, InvalidBatchError, describe, walk_valid
from kcompat.log.segment import MAX_RELATIVE_OFFSET
from kcompat.log.split import SegmentOverflowError

if TYPE_CHECKING:
    from kcompat.log.epoch_file import EpochFile
    from kcompat.log.epochs import LeaderEpochCache
    from kcompat.log.producers import ProducerState
    from kcompat.log.segment import Segment


class SegmentRecovery:
    """Recovery of one segment: rebuilds its indexes, and the epochs and producer state from its batches.

    `limit` is the base offset of the next segment; `known_epochs` has the epochs of the checkpoint, None if
    it could not be read; `producers` is the state at the segment's base offset and is brought to its end.
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
        self._is_last = limit is None
        self._pending: FoundBatch | None = None
        self._end = 0

    def run(self) -> str | None:
        """Recover the segment. Return why its end was cut off, or None if the whole segment is right.

        Raises SegmentOverflowError, OSError.
        """
        self._segment.begin_recovery()
        reason = None
        try:
            self._accept_all_but_the_last()
        except InvalidBatchError as fault:
            reason = str(fault)
        if self._pending is not None:
            self._accept(self._pending)
        self._segment.end_recovery(self._end, is_last=self._is_last)
        return reason

    def _accept_all_but_the_last(self) -> None:
        """Accept the right batches except the last of them, which becomes `_pending`.

        Raises InvalidBatchError at the first wrong one.
        """
        segment = self._segment
        before = after = (segment.base_offset, -1)
        for position, batch in walk_valid(segment.file, segment.size):
            found = describe(position, batch)
            if found is None:
                raise InvalidBatchError(position, "is a transaction marker that cannot be read")
            if not self._fits(found, *after):
                if self._goes_too_far(found, *after):
                    raise SegmentOverflowError(segment.base_offset, position)
                earlier = self._pending
                if earlier is not None and self._belies(found, earlier, *before):
                    self._pending, wrong = None, earlier
                else:
                    wrong = found
                raise InvalidBatchError(wrong.position, "has offsets or a leader epoch out of order")
            if self._pending is not None:
                self._accept(self._pending)
            self._pending = found
            before, after = after, (found.last_offset + 1, found.epoch)

    def _fits(self, found: FoundBatch, next_offset: int, epoch: int) -> bool:
        """Return whether a batch may follow: `next_offset` is the first free offset, `epoch` the newest so
        far.
        """
        return found.last_offset <= self._highest and self._follows(found, next_offset, epoch)

    def _goes_too_far(self, found: FoundBatch, next_offset: int, epoch: int) -> bool:
        """Return whether the only fault of a batch is its distance to the segment's base offset.

        Old versions of Kafka's cleaner could make that distance too large (`split`). They never compact the
        last segment.
        """
        return self._highest < found.last_offset < self._limit and self._follows(found, next_offset, epoch)

    def _follows(self, found: FoundBatch, next_offset: int, epoch: int) -> bool:
        if not next_offset <= found.base_offset <= found.last_offset:
            return False
        if found.header is None:
            return True  # old formats have no epochs, and may follow the current format
        return found.epoch >= epoch and self._has_its_epoch(found)

    def _has_its_epoch(self, found: FoundBatch) -> bool:
        """Return whether the batch has the epoch of the checkpoint, or one that the checkpoint dropped below
        the log start.
        """
        known = self._known_epochs
        if known is None:
            return True
        epoch = known.epoch_for(found.base_offset)
        return found.epoch <= known.oldest if epoch == UNDEFINED else found.epoch == epoch

    def _belies(self, found: FoundBatch, earlier: FoundBatch, next_offset: int, epoch: int) -> bool:
        """Return whether `earlier` is the wrong batch: it jumped ahead, and `found` fits behind its proper
        place.
        """
        length = earlier.last_offset - earlier.base_offset + 1
        jumped = earlier.base_offset > next_offset or earlier.epoch > epoch
        return jumped and self._fits(found, next_offset + length, epoch)

    def _accept(self, found: FoundBatch) -> None:
        self._segment.recovered(found.position, found.size, found.last_offset, found.timestamp)
        self._end = found.position + found.size
        if found.epoch > self._epochs.latest:
            self._epochs.assign(found.epoch, found.base_offset)
        header = found.header
        if header is not None and header.producer_id >= 0:
            aborted = self._producers.note(header, found.marker, found.base_offset, header.max_timestamp)
            if aborted is not None:
                self._segment.txn_index.append(aborted)
