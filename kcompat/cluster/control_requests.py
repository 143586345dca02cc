"""Control requests, by which a broker hears of the controller's decisions, and its replies. Pure.

A control request is the same value whether the controller of this process gives it, a controller elsewhere
sends it, or a watch of the store finds it out. All but `UpdateConfigs` are requests of Kafka and have their
names; they carry the epoch of the controller that decided, and a broker refuses a smaller one than it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.cluster.image import BrokerInfo, PartitionInfo

NO_LEADER_EPOCH = -1
"""The leader epoch of a replica to stop, where nobody knows one."""

LEADER_EPOCH_DURING_DELETION = -2
"""The leader epoch of a replica to stop because its topic is being deleted."""


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
    """Take these roles; create the logs that are missing. `live_leaders` are the brokers that lead them."""

    controller_id: int
    controller_epoch: int
    partitions: Sequence[AssignedPartition]
    live_leaders: Sequence[BrokerInfo] = ()


class StoppedPartition(Struct, frozen=True, gc=False):
    """One partition of a StopReplica. A broker that knows a newer `leader_epoch` refuses; negative ones, the
    two above, are never refused.
    """

    topic: str
    index: int
    leader_epoch: int
    delete: bool


class StopReplica(Struct, frozen=True):
    """Stop following the leaders of these partitions; of those to `delete` keep nothing."""

    controller_id: int
    controller_epoch: int
    partitions: Sequence[StoppedPartition]


class UpdatedPartition(Struct, frozen=True, gc=False):
    """One partition of an UpdateMetadata; the leader `LEADER_DURING_DELETION` takes it out of the picture."""

    topic: str
    topic_id: bytes
    index: int
    info: PartitionInfo


class UpdateMetadata(Struct, frozen=True):
    """Show clients this controller, these brokers and no others, and these partitions; partitions not named
    stay as they are.
    """

    controller_id: int
    controller_epoch: int
    brokers: Mapping[int, BrokerInfo]
    partitions: Sequence[UpdatedPartition] = ()
    presumed_dead: Mapping[int, BrokerInfo] = {}
    """Brokers that are not alive and that clients are told of all the same: see `ClusterImage`."""


class UpdateConfigs(Struct, frozen=True):
    """Obey and show these dynamic configs of entities, each complete; a topic's come before its roles."""

    changed: Mapping[tuple[str, str], Mapping[str, str]]


ControlRequest = LeaderAndIsr | StopReplica | UpdateMetadata | UpdateConfigs


class Reply(Struct, frozen=True):
    """The answer of a broker: an `error` of the whole request, or errors of partitions by topic and index."""

    error: ErrorCode = ErrorCode.NONE
    partitions: Mapping[tuple[str, int], ErrorCode] = {}


Answered = Callable[[Reply], object]


class BrokerPort(Protocol):
    """A broker, as the controller reaches it."""

    def give(self, control: ControlRequest, answered: Answered) -> None:
        """Take one request; call `answered` when it is done, before or after this returns."""

    def close(self) -> None:
        """Nothing more will be given, and answers are nobody's any more."""
