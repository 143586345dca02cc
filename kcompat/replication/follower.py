"""A replica that does not lead, because another broker does, or nobody, or because nobody has said yet."""

from __future__ import annotations

from kcompat.protocol.errors import ErrorCode
from kcompat.replication.role import NO_EPOCH


class Follower:
    """What such a replica knows: the epoch it follows, and the high watermark it last heard of."""

    __slots__ = ("_is_retired", "epoch", "high_watermark")

    def __init__(self, epoch: int, high_watermark: int, *, is_retired: bool = False) -> None:
        """A replica is retired once it has left this broker."""
        self.epoch = epoch
        self.high_watermark = high_watermark
        self._is_retired = is_retired

    @property
    def is_readable(self) -> bool:
        """Whether consumers may read here what is committed (KIP-392)."""
        return self.epoch != NO_EPOCH and not self._is_retired

    def refusal(self, *, has_failed: bool) -> ErrorCode:
        """What a client is told that takes this replica for the leader; `has_failed` is said of its disk."""
        if self._is_retired:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.KAFKA_STORAGE_ERROR if has_failed else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def check_invariants(self, log_end_offset: int) -> None:
        """Assert that the high watermark lies in the log."""
        assert 0 <= self.high_watermark <= log_end_offset
