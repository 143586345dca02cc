"""What the controller knows, what it decides, and whom it tells. Pure.

An event is decided against the state and gives a `Decision`: store operations for one transaction, the state
once they are durable, requests to brokers in order, and the answer for whoever asked. Kafka's rule for every
decision about a leader or an ISR: the leader epoch grows by one (in ZooKeeper mode; only AlterPartition
leaves it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.store import SetData
from kcompat.cluster.znodes import PartitionState, encode_partition_state, partition_state_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.cluster.image import ClusterImage, PartitionInfo, TopicImage
    from kcompat.cluster.store import Op
    from kcompat.protocol.errors import ErrorCode

T = TypeVar("T")

PartitionErrors = Mapping[tuple[str, int], "ErrorCode"]
"""The partitions of a request that a broker failed, by topic and index."""

ABSENT = -1
"""The znode version that stands for a node that does not exist yet."""


class ControllerState(Struct, frozen=True):
    """The picture the controller decides on. A cluster member sees only `image`."""

    image: ClusterImage
    epoch_version: int
    """Version of `/controller_epoch` since our election: the guard of every write."""
    deleting: frozenset[str] = frozenset()
    """Topics marked for deletion, no longer in the image."""
    last_producer_id: int = -1
    producer_ids_version: int = ABSENT

    def check_invariants(self) -> None:
        """The image is sound; a topic is either there or being deleted."""
        self.image.check_invariants()
        assert not self.deleting & self.image.topics.keys()


class AssignedPartition(Struct, frozen=True, gc=False):
    """One partition of a LeaderAndIsr request; `configs` are the topic's own."""

    topic: str
    topic_id: bytes
    index: int
    state: PartitionInfo
    configs: Mapping[str, str]
    is_new: bool


class LeaderAndIsr(Struct, frozen=True):
    """Take these roles; create the logs that are missing."""

    partitions: Sequence[AssignedPartition]


class StopReplica(Struct, frozen=True):
    """Stop serving these partitions and delete their logs."""

    partitions: Sequence[tuple[str, int]]


class UpdateMetadata(Struct, frozen=True):
    """Show this picture to clients."""

    image: ClusterImage


Request = LeaderAndIsr | StopReplica | UpdateMetadata


class BrokerPort(Protocol):
    """How the controller reaches a broker. On this broker it is a direct call."""

    def leader_and_isr(self, partitions: Sequence[AssignedPartition]) -> PartitionErrors:
        """Create missing logs, take the roles; answer the partitions that failed (KAFKA_STORAGE_ERROR)."""

    def stop_replica(self, partitions: Sequence[tuple[str, int]], *, delete: bool) -> PartitionErrors:
        """Stop serving; with `delete` remove the logs too; answer the partitions that failed."""

    def update_metadata(self, image: ClusterImage) -> None:
        """Replace the picture that handlers read."""


class Decision(Struct, Generic[T], frozen=True):
    """What follows from one event."""

    state: ControllerState
    answer: T
    writes: Sequence[Op] = ()
    requests: Sequence[Request] = ()
    then: Callable[[PartitionErrors], Event[T]] | None = None
    """A second event, decided at once on what the brokers failed; its answer replaces this one's."""


class Event(Protocol[T]):
    """Something that happened or is asked for."""

    def decide(self, state: ControllerState) -> Decision[T]:
        """The consequences. Pure: the same state and event give the same decision."""

    def refused(self, error: ErrorCode) -> T:
        """The answer when the controller could not act on the event."""


def change_leader(
    topic: TopicImage, index: int, leader: int, isr: tuple[int, ...], controller_epoch: int
) -> tuple[PartitionInfo, Op]:
    """A partition with another leader and ISR, its leader epoch one higher, and the write that does it."""
    old = topic.partitions[index]
    new = replace(
        old,
        leader=leader,
        isr=isr,
        leader_epoch=old.leader_epoch + 1,
        partition_epoch=old.partition_epoch + 1,
    )
    data = encode_state(new, controller_epoch)
    return new, SetData(partition_state_path(topic.name, index), data, old.partition_epoch)


def encode_state(partition: PartitionInfo, controller_epoch: int) -> bytes:
    """The payload of a partition's state znode."""
    return encode_partition_state(
        PartitionState(
            partition.leader,
            partition.leader_epoch,
            controller_epoch,
            partition.isr,
            partition.leader_recovery_state,
        )
    )
