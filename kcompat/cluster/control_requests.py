"""Control requests: what the controller has decided for a broker, and the broker's reply. Pure.

A control request is the same value whether the controller of this process makes it, a controller elsewhere
sends it, or a watch on the store leads to it. All but `UpdateConfigs` are Kafka's requests and have their
names. They carry the epoch of the controller that decided; a broker refuses a smaller epoch than it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.cluster.image import BrokerInfo, PartitionInfo

NO_LEADER_EPOCH = -1
"""Leader epoch of a replica to stop when the epoch is unknown."""

LEADER_EPOCH_DURING_DELETION = -2
"""Leader epoch of a replica to stop because its topic is deleted."""


class Role(Struct, frozen=True, gc=False):
    """The controller's decision about a partition: its leader, the leader epoch, the replicas in sync.

    `adding` and `removing` are those of the replicas that a reassignment brings and takes away;
    `leader_recovery_state` is 1 while a leader that was elected uncleanly recovers.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    leader_recovery_state: int = 0


class AssignedPartition(Struct, frozen=True, gc=False):
    """One partition of a LeaderAndIsr; `is_new` says that its log may be absent."""

    topic: str
    topic_id: bytes
    index: int
    role: Role
    is_new: bool


class LeaderAndIsr(Struct, frozen=True):
    """Request to take these roles, and to create missing logs. `live_leaders` are the brokers that lead the
    partitions.
    """

    controller_id: int
    controller_epoch: int
    partitions: Sequence[AssignedPartition]
    live_leaders: Sequence[BrokerInfo] = ()


class StoppedPartition(Struct, frozen=True, gc=False):
    """One partition of a StopReplica. A broker that knows a newer `leader_epoch` refuses; the two negative
    epochs above are never refused.
    """

    topic: str
    index: int
    leader_epoch: int
    delete: bool


class StopReplica(Struct, frozen=True):
    """Request to stop following the leaders of these partitions, and to delete the logs
    of those to `delete`.
    """

    controller_id: int
    controller_epoch: int
    partitions: Sequence[StoppedPartition]


class UpdatedPartition(Struct, frozen=True, gc=False):
    """One partition of an UpdateMetadata; the leader `LEADER_DURING_DELETION` removes it from the image."""

    topic: str
    topic_id: bytes
    index: int
    info: PartitionInfo


class UpdateMetadata(Struct, frozen=True):
    """Metadata update: the controller, all live brokers, and changed partitions; partitions not named stay as
    they are.
    """

    controller_id: int
    controller_epoch: int
    brokers: Mapping[int, BrokerInfo]
    partitions: Sequence[UpdatedPartition] = ()
    presumed_dead: Mapping[int, BrokerInfo] = {}
    """Brokers that have failed and that clients still see: `ClusterImage.presumed_dead`."""


class UpdateConfigs(Struct, frozen=True):
    """Update of dynamic configs by (kind, name), each complete; a topic's configs come before its roles."""

    changed: Mapping[tuple[str, str], Mapping[str, str]]


ControlRequest = LeaderAndIsr | StopReplica | UpdateMetadata | UpdateConfigs


class Reply(Struct, frozen=True):
    """The answer of a broker: an `error` of the whole request, or errors of partitions by topic and index."""

    error: ErrorCode = ErrorCode.NONE
    partitions: Mapping[tuple[str, int], ErrorCode] = {}


Answered = Callable[[Reply], object]


class BrokerPort(Protocol):
    """Port through which the controller reaches a broker."""

    def give(self, control: ControlRequest, answered: Answered) -> None:
        """Execute one request; call `answered` with the reply when it is done, maybe before this returns."""

    def close(self) -> None:
        """Close the port: no more requests come, and later replies are ignored."""
