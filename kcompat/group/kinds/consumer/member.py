"""A member of a consumer group, replayed from the log: its subscription, its partitions and its epochs.

Kafka's counterparts: `ConsumerGroupMember`, `MemberState`.
"""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NO_EPOCHS: Mapping[bytes, Mapping[int, int]] = MappingProxyType({})


class ConsumerMemberState(IntEnum):
    """States of a member on the way to its target assignment; the numbers are those of the record."""

    STABLE = 0
    """The member owns exactly the partitions of its target assignment at its epoch."""
    UNREVOKED_PARTITIONS = 1
    """The member has yet to revoke partitions, and keeps its old epoch until then."""
    UNRELEASED_PARTITIONS = 2
    """The member is in its new epoch, but other members have yet to revoke some of its partitions."""
    UNKNOWN = 127
    """A state that a newer broker wrote."""

    @classmethod
    def _missing_(cls, _value: object) -> ConsumerMemberState:
        return cls.UNKNOWN


class ClassicMembership(Struct, frozen=True):
    """Fields with which a member of the classic protocol joined: its protocols in order of preference."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class ConsumerMember(Struct, frozen=True):
    """A member of a consumer group. Times are in ms, -1 if the client has not sent them.

    `assigned` and `revoking` are partitions by topic id, each with the epoch in which the member got it: from
    that epoch on it may commit the partition's offsets (KIP-1251).
    """

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: ConsumerMemberState = ConsumerMemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscribed_topics: frozenset[str] = frozenset()
    subscribed_regex: str = ""
    """Pattern that the member subscribes to; empty if it has none."""
    server_assignor: str | None = None
    assigned: Mapping[bytes, Mapping[int, int]] = NO_EPOCHS
    revoking: Mapping[bytes, Mapping[int, int]] = NO_EPOCHS
    classic: ClassicMembership | None = None
    """Classic protocols of the member; None if it uses the consumer protocol."""

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Return whether the member owns its target assignment of the epoch `assignment_epoch`."""
        return self.state is ConsumerMemberState.STABLE and self.member_epoch == assignment_epoch

    def held(self) -> Iterator[tuple[bytes, int]]:
        """Return the partitions that no other member may get: those that the member owns or has yet to
        revoke.
        """
        for partitions in (self.assigned, self.revoking):
            for topic_id, indexes in partitions.items():
                for index in indexes:
                    yield topic_id, index

    def assignment_epoch(self, topic_id: bytes, partition: int) -> int | None:
        """Return the epoch in which the member got a partition that it owns or has yet to revoke; None for
        any other.
        """
        for partitions in (self.assigned, self.revoking):
            epoch = partitions.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None

    def owns_at_least(self, reported: Mapping[bytes, frozenset[int]] | None) -> bool:
        """Return whether all partitions in `reported` are assigned to the member; False if `reported` is
        None.
        """
        if reported is None:
            return False
        return all(indexes <= self.assigned.get(topic, {}).keys() for topic, indexes in reported.items())
