"""Identity of a replica, and its state while this broker does not lead the partition."""

from __future__ import annotations

from typing import Protocol

from kcompat.cluster.control_requests import Role
from kcompat.protocol.constants import NO_EPOCH, NO_LEADER
from kcompat.protocol.errors import ErrorCode

NO_ROLE = Role(leader=NO_LEADER, leader_epoch=NO_EPOCH, isr=(), replicas=())
"""Role of a replica before the controller's first decision."""


class ReplicaIdentity(Protocol):
    """Names of the partition that a replica belongs to."""

    @property
    def topic(self) -> str:
        """Name of the topic."""

    @property
    def topic_id(self) -> bytes:
        """Id of the topic; zero if the topic has none."""

    @property
    def index(self) -> int:
        """Index of the partition in the topic."""


class Follower:
    """State of a replica that does not lead: another broker leads, none does, or the role is unknown."""

    __slots__ = ("_is_retired", "epoch", "high_watermark")

    def __init__(self, epoch: int, high_watermark: int, *, is_retired: bool = False) -> None:
        """Begin with the current leader epoch (`epoch`) and the last high watermark that the leader sent.

        `is_retired` means that the replica was removed from this broker.
        """
        self.epoch = epoch
        self.high_watermark = high_watermark
        self._is_retired = is_retired

    @property
    def is_readable(self) -> bool:
        """Whether consumers may read committed records from this replica (KIP-392)."""
        return self.epoch != NO_EPOCH and not self._is_retired

    def refusal(self, *, has_failed: bool) -> ErrorCode:
        """Return the error for a client that takes this replica for the leader.

        `has_failed` says whether the disk of the replica has failed.
        """
        if self._is_retired:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.KAFKA_STORAGE_ERROR if has_failed else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def check_invariants(self, log_end_offset: int) -> None:
        """Assert that the high watermark lies in the log."""
        assert 0 <= self.high_watermark <= log_end_offset
