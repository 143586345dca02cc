"""Committed offsets of one group, replayed from the log.

A commit inside a transaction is staged under its producer until the transaction's marker. Plain and
transactional commits of one partition take effect in the order of their records, not of their markers
(KAFKA-5247).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.coordinator.timeline import TimelineDict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.coordinator.timeline import Timeline
    from kcompat.topics import TopicPartition


class CommittedOffset(Struct, frozen=True, gc=False):
    """A committed offset. Times are in ms; `expire_timestamp` is -1 unless the client requested a retention.

    `record_offset` is the offset of the commit's record in `__consumer_offsets`.
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    record_offset: int


class GroupOffsets:
    """Committed offsets of one group."""

    __slots__ = ("_committed", "_staged")

    def __init__(self, timeline: Timeline) -> None:
        self._committed: TimelineDict[TopicPartition, CommittedOffset] = TimelineDict(timeline)
        self._staged: dict[int, dict[TopicPartition, CommittedOffset]] = {}

    def replay(self, key: TopicPartition, value: CommittedOffset | None, record_offset: int) -> None:
        """Apply a commit outside any transaction, or the tombstone of an offset (see `unstage`)."""
        self._committed.set(key, value, record_offset)

    def filling(self) -> dict[TopicPartition, CommittedOffset]:
        """Return the mapping of committed offsets, for the loader of the log to fill."""
        return self._committed.filling()

    def stage(self, producer_id: int, key: TopicPartition, value: CommittedOffset) -> None:
        """Stage a commit inside a transaction that is still open."""
        self._staged.setdefault(producer_id, {})[key] = value

    def unstage(self, key: TopicPartition) -> list[int]:
        """Apply the tombstone of an offset to its commits in open transactions (KAFKA-14505).

        Returns the producers that have no staged commits left in this group.
        """
        finished = []
        for producer_id, staged in self._staged.items():
            if staged.pop(key, None) is not None and not staged:
                finished.append(producer_id)
        for producer_id in finished:
            del self._staged[producer_id]
        return finished

    def end_transaction(self, producer_id: int, committed: bool, marker_offset: int) -> None:
        """Apply a transaction's marker: apply its staged offsets that have no later commit, or drop all after
        an abort.
        """
        for key, value in self._staged.pop(producer_id, {}).items():
            current = self._committed.get(key)
            if committed and (current is None or value.record_offset > current.record_offset):
                self._committed.set(key, value, marker_offset)

    def __len__(self) -> int:
        return len(self._committed)

    def visible(self, key: TopicPartition) -> CommittedOffset | None:
        """Return the offset of a partition that readers may see; None if there is none."""
        return self._committed.committed(key)

    def visible_items(self) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
        """Return all offsets that readers may see."""
        return self._committed.committed_items()

    def items(self) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
        """Return all offsets in the log, committed or not."""
        return self._committed.items()

    def partitions(self) -> list[TopicPartition]:
        """Return each partition that has an offset in the log, in open transactions too."""
        return list(dict.fromkeys(chain(self._committed.keys(), *self._staged.values())))

    def last_commit(self, key: TopicPartition) -> int:
        """Return the offset of the latest record that commits the partition, in an open transaction too."""
        found = (self._committed.get(key), *(staged.get(key) for staged in self._staged.values()))
        return max((each.record_offset for each in found if each is not None), default=-1)

    def has(self, key: TopicPartition) -> bool:
        """Return whether the log has an offset of the partition, in an open transaction too."""
        return self._committed.get(key) is not None or self._is_staged(key)

    def is_unstable(self, key: TopicPartition) -> bool:
        """Return whether the partition has a pending commit, plain or in a transaction (KIP-447)."""
        return self._committed.is_pending(key) or self._is_staged(key)

    def _is_staged(self, key: TopicPartition) -> bool:
        return any(key in staged for staged in self._staged.values())

    @property
    def staged(self) -> dict[int, dict[TopicPartition, CommittedOffset]]:
        """Commits of open transactions, by producer id."""
        return self._staged

    @property
    def is_empty(self) -> bool:
        """Whether the group has no offsets, staged and uncommitted ones included."""
        return not self._committed and not self._committed.has_pending and not self._staged
