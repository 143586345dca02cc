"""Control requests: the controller's decisions for one broker, and the broker's reply. Pure.

A control request has the same value whether a controller in this process makes it, a controller in another
process sends it, or a watch on the store causes it. All requests but `UpdateConfigs` are Kafka's and have
Kafka's names. Kafka's requests carry the epoch of the controller that decided; a broker refuses a request
with a smaller epoch than the largest it knows.
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

    `adding` and `removing` are the replicas that a reassignment adds and removes; `leader_recovery_state` is
    1 while a leader that was elected uncleanly recovers.
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
    """One partition of a LeaderAndIsr. If `is_new`, the partition is new and its log may be missing."""

    topic: str
    topic_id: bytes
    index: int
    role: Role
    is_new: bool


class LeaderAndIsr(Struct, frozen=True):
    """Request to take the roles of these partitions, and to create missing logs.

    `live_leaders` are the live brokers among the leaders of the partitions.
    """

    controller_id: int
    controller_epoch: int
    partitions: Sequence[AssignedPartition]
    live_leaders: Sequence[BrokerInfo] = ()


class StoppedPartition(Struct, frozen=True, gc=False):
    """One partition of a StopReplica.

    A broker that knows a newer leader epoch than `leader_epoch` refuses. The epochs `NO_LEADER_EPOCH` and
    `LEADER_EPOCH_DURING_DELETION` are never refused.
    """

    topic: str
    index: int
    leader_epoch: int
    delete: bool


class StopReplica(Struct, frozen=True):
    """Request to stop following the leaders of these partitions, and to delete the logs of partitions marked
    `delete`.
    """

    controller_id: int
    controller_epoch: int
    partitions: Sequence[StoppedPartition]


class UpdatedPartition(Struct, frozen=True, gc=False):
    """One partition of an UpdateMetadata. The leader `LEADER_DURING_DELETION` removes the partition from the
    image.
    """

    topic: str
    topic_id: bytes
    index: int
    info: PartitionInfo


class UpdateMetadata(Struct, frozen=True):
    """Metadata update: the controller, all live brokers, and changed partitions.

    Partitions that are not named keep their state.
    """

    controller_id: int
    controller_epoch: int
    brokers: Mapping[int, BrokerInfo]
    partitions: Sequence[UpdatedPartition] = ()
    presumed_dead: Mapping[int, BrokerInfo] = {}
    """Failed brokers that clients still see in Metadata, by id; see `ClusterImage.presumed_dead`."""


class UpdateConfigs(Struct, frozen=True):
    """Update of dynamic configs by (kind, name). Each value holds all configs of its entity; a topic's
    configs are sent before its roles.
    """

    changed: Mapping[tuple[str, str], Mapping[str, str]]


ControlRequest = LeaderAndIsr | StopReplica | UpdateMetadata | UpdateConfigs


class Reply(Struct, frozen=True):
    """Reply of a broker: an `error` of the whole request, or the errors of partitions by topic and index."""

    error: ErrorCode = ErrorCode.NONE
    partitions: Mapping[tuple[str, int], ErrorCode] = {}


Answered = Callable[[Reply], object]


class BrokerPort(Protocol):
    """Port through which the controller reaches a broker."""

    def give(self, control: ControlRequest, answered: Answered) -> None:
        """Execute one request, and call `answered` with the reply, possibly before this method returns."""

    def close(self) -> None:
        """Close the port: no more requests are given, and later replies are ignored."""
