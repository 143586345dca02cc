"""Groups of every kind as values for tests: members, assignments, committed offsets and lag."""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

Partitions: TypeAlias = dict[str, list[int]]
"""Indexes of partitions by topic, both in order."""

UNKNOWN: Final = -1
"""Value of an epoch, lag or end offset that does not exist, or that no running broker knows."""


class GroupMember(Struct, frozen=True):
    """A member of a group."""

    id: str
    client_id: str
    host: str
    instance_id: str | None = None
    """`group.instance.id` of a static member."""
    rack: str | None = None
    epoch: int = UNKNOWN
    """Epoch of the member; -1 in a classic group."""
    subscription: list[str] = []
    """Topics that the member subscribes to; in a classic group only while it is stable."""
    pattern: str | None = None
    """Regular expression of topics that the member subscribes to."""
    assignment: Partitions = {}
    """Partitions that the member owns; in a streams group the partitions that its active tasks read."""
    target: Partitions = {}
    """Target assignment of a member of a consumer group."""
    tasks: dict[str, list[str]] = {}
    """Tasks of a member of a streams group, such as `0_1`, by `active`, `standby` and `warmup`."""


class GroupOffset(Struct, frozen=True):
    """The committed offset of a group in a partition; in a share group, the start offset of its records in
    flight.
    """

    topic: str
    partition: int
    committed: int
    end_offset: int
    """Offset up to which consumers can read the partition; -1 without a leader."""
    lag: int
    """Number of offsets from the committed one to the end; in a share group the number of records that are
    not delivered yet. -1 if it is not known."""
    metadata: str = ""
    """Text that the client committed with the offset."""


class Group(Struct, frozen=True):
    """A group of any kind."""

    id: str
    kind: str
    """`classic`, `consumer`, `share` or `streams`."""
    state: str
    """State as Kafka names it, such as `Stable` or `Empty`."""
    protocol_type: str
    """`consumer` for consumers of a classic group, `connect` for workers of Kafka Connect."""
    assignor: str
    """Name of the assignor of a consumer or share group, or of the protocol that the members of a classic
    group agreed on while it is stable."""
    epoch: int
    """Epoch of the group; -1 in a classic group."""
    members: list[GroupMember]
    offsets: list[GroupOffset]

    @property
    def lag(self) -> int:
        """Sum of the known lags of all partitions."""
        return sum(each.lag for each in self.offsets if each.lag > 0)

    def offset(self, topic: str, partition: int = 0) -> GroupOffset | None:
        """Return the committed offset in a partition; None if there is none."""
        return next(
            (each for each in self.offsets if (each.topic, each.partition) == (topic, partition)), None
        )

    def __repr__(self) -> str:
        assignor = f" {self.assignor}" if self.assignor else ""
        members = "".join(f"\n  {each.client_id} at {each.host}: {each.assignment}" for each in self.members)
        offsets = "".join(
            f"\n  {each.topic}-{each.partition}: {each.committed} of {each.end_offset}, lag {each.lag}"
            for each in self.offsets
        )
        return f"<Group {self.id} {self.kind} {self.state}{assignor}{members}{offsets}>"
