"""A share partition by itself, with short ways to fetch and acknowledge, and to see what is in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.share.partition.acknowledgement import Acknowledgement, AcknowledgeType
from kcompat.share.partition.acquisition import Acquired, FetchedBatch, Wish
from kcompat.share.partition.in_flight import Change
from kcompat.share.partition.limits import AcquireMode, ShareLimits
from kcompat.share.partition.share_partition import SharePartition

if TYPE_CHECKING:
    from kcompat.share.batches import StateBatch
    from kcompat.share.persisting import Outcome

LOCK_MS = 1000
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
RENEW, GAP = AcknowledgeType.RENEW, AcknowledgeType.GAP


class SharePartitionWorld:
    """One share partition at `now_ms`. Batches are given as pairs of first and last offsets."""

    def __init__(
        self,
        *stored: StateBatch,
        start: int = 0,
        max_record_locks: int = 200,
        delivery_count_limit: int = 5,
        renew_acknowledge: bool = True,
    ) -> None:
        self.now_ms = 0
        self.limits = ShareLimits(max_record_locks, delivery_count_limit, LOCK_MS, renew_acknowledge)
        self.partition = SharePartition(7, 3, start, stored)

    def fetch(
        self,
        *batches: tuple[int, int],
        member: str = "a",
        records: int = 100,
        batch_size: int = 100,
        mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED,
        aborted: tuple[tuple[int, int], ...] = (),
    ) -> list[Acquired]:
        """Acquire from these batches."""
        wish = Wish(member, self.partition.next_fetch_offset, records, batch_size, mode)
        acquired = self.partition.acquire(
            wish,
            [FetchedBatch(*batch) for batch in batches],
            [FetchedBatch(*batch) for batch in aborted],
            self.limits,
            self.now_ms,
        )
        self.partition.check_invariants()
        return acquired

    def begin(self, first: int, last: int, *types: int, member: str = "a") -> Change | Outcome:
        """Say something of a range, without the write that it asks for."""
        said = [Acknowledgement(first, last, types)]
        begun = self.partition.acknowledge(member, said, self.limits, self.now_ms)
        self.partition.check_invariants()
        return begun

    def settle(self, change: Change, *, is_stored: bool = True) -> None:
        """What became of the write."""
        self.partition.settle(change, self.limits, self.now_ms, is_stored=is_stored)
        self.partition.check_invariants()

    def say(self, first: int, last: int, *types: int, member: str = "a") -> None:
        """Say something of a range that can be done, and is stored."""
        change = self.begin(first, last, *types, member=member)
        assert isinstance(change, Change), change
        self.settle(change)

    @property
    def in_flight(self) -> list[str]:
        """The spans in flight, as text."""
        return [repr(span).strip("<>") for span in self.partition.spans()]
