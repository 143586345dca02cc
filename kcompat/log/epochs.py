"""The leader-epoch cache: which epoch starts at which offset (LeaderEpochFileCache, KIP-101, KIP-279)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

UNDEFINED = -1


class LeaderEpochCache:
    """Leader epochs with their start offsets, strictly increasing in both.

    Kept in memory; `EpochFile` stores them.
    """

    __slots__ = ("_epochs", "_starts", "latest")

    def __init__(self, entries: list[tuple[int, int]] | None = None) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.latest = UNDEFINED
        for epoch, start in entries or ():
            self.assign(epoch, start)

    @property
    def entries(self) -> list[tuple[int, int]]:
        """The (epoch, start offset) pairs, oldest first."""
        return list(zip(self._epochs, self._starts, strict=True))

    @property
    def oldest(self) -> int:
        """Oldest known epoch; -1 when there is none."""
        return self._epochs[0] if self._epochs else UNDEFINED

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Add an epoch that begins at `start_offset`, and remove entries that contradict it; return whether
        anything changed.
        """
        if epoch < 0:
            return False
        if epoch == self.latest and self._starts[-1] <= start_offset:
            return False
        keep = min(bisect_left(self._epochs, epoch), bisect_left(self._starts, start_offset))
        del self._epochs[keep:], self._starts[keep:]
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest = epoch
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return the largest known epoch <= `epoch` and its end offset; (-1, -1) when undefined."""
        if epoch == UNDEFINED or not self._epochs or epoch > self.latest:
            return UNDEFINED, UNDEFINED
        if epoch == self.latest:
            return epoch, log_end_offset
        after = bisect_right(self._epochs, epoch)
        return (self._epochs[after - 1] if after else epoch), self._starts[after]

    def epoch_for(self, offset: int) -> int:
        """Return the epoch in which `offset` was written; -1 when unknown."""
        at = bisect_right(self._starts, offset) - 1
        return self._epochs[at] if at >= 0 else UNDEFINED

    def truncate_from_end(self, offset: int) -> bool:
        """Remove epochs that start at `offset` or later; return whether anything changed."""
        keep = bisect_left(self._starts, offset)
        if keep == len(self._starts):
            return False
        del self._epochs[keep:], self._starts[keep:]
        self.latest = self._epochs[-1] if self._epochs else UNDEFINED
        return True

    def truncate_from_start(self, offset: int) -> bool:
        """Remove epochs that end at or below the log start `offset`; return whether anything changed.

        The epoch of `offset` itself then starts there.
        """
        dropped = bisect_right(self._starts, offset)
        if dropped == 0 or (dropped == 1 and self._starts[0] == offset):
            return False
        epoch = self._epochs[dropped - 1]
        self._epochs[:dropped] = [epoch]
        self._starts[:dropped] = [offset]
        return True

    def clear(self) -> None:
        """Remove all epochs."""
        self._epochs.clear()
        self._starts.clear()
        self.latest = UNDEFINED

    def check_invariants(self) -> None:
        """Assert that epochs and start offsets strictly increase."""
        for column in (self._epochs, self._starts):
            assert all(a < b for a, b in pairwise(column)), self.entries
