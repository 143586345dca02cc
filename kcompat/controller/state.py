"""What the controller knows and what it decides. Pure.

An event is decided against the state and gives a `Decision`: store operations for one transaction, the state
once they are durable, requests to brokers in order, and the answer for whoever asked. Kafka's rule for every
decision about a leader or an ISR: the leader epoch grows by one (in ZooKeeper mode, for all but
AlterPartition).

What brokers are shown is another type, `kcompat.cluster.image`; `requests` makes the one from the other.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.image import NO_LEADER
from kcompat.cluster.store import SetData
from kcompat.cluster.znodes import PartitionState, encode_partition_state, partition_state_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kcompat.cluster.image import BrokerInfo
    from kcompat.cluster.news import News
    from kcompat.cluster.store import Op
    from kcompat.protocol.errors import ErrorCode

T = TypeVar("T")

ABSENT = -1
"""The znode version that stands for a node that does not exist yet."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


class RegisteredBroker(Struct, frozen=True, gc=False):
    """A live broker and its broker epoch: the czxid of its registration."""

    info: BrokerInfo
    epoch: int


class ControlledPartition(Struct, frozen=True, gc=False):
    """The state of a partition as stored; `partition_epoch` is the version of its znode."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    partition_epoch: int
    leader_recovery_state: int = 0


class ControlledTopic(Struct, frozen=True, gc=False):
    """A topic and its partitions by index."""

    name: str
    topic_id: bytes
    partitions: tuple[ControlledPartition, ...]

    @property
    def replication_factor(self) -> int:
        """Replicas of the first partition, as Kafka counts it."""
        return len(self.partitions[0].replicas) if self.partitions else 0


class Deletion(Struct, frozen=True, gc=False):
    """A topic marked for deletion, hidden from clients; `waits_for` are the brokers that have logs of it."""

    topic: ControlledTopic
    waits_for: frozenset[int] = frozenset()


class ControllerState(Struct, frozen=True):
    """Everything the controller decides on. Do not change what the mappings hold."""

    broker_id: int
    """The broker that is the controller."""
    epoch: int
    epoch_version: int
    """Version of `/controller_epoch` since our election: the guard of every write."""
    brokers: Mapping[int, RegisteredBroker] = {}
    topics: Mapping[str, ControlledTopic] = {}
    entity_configs: Mapping[tuple[str, str], Mapping[str, str]] = {}
    """Dynamic configs by (kind, name), also those of topics that are being deleted."""
    deleting: Mapping[str, Deletion] = {}
    last_producer_id: int = -1
    producer_ids_version: int = ABSENT

    def configs(self, kind: str, name: str) -> Mapping[str, str]:
        """Dynamic configs of an entity; empty where none are set."""
        return self.entity_configs.get((kind, name), _NOTHING)

    def with_topics(
        self, changed: Iterable[ControlledTopic], removed: Collection[str] = ()
    ) -> ControllerState:
        """This state with topics added or replaced, and others removed."""
        topics = {**self.topics, **{topic.name: topic for topic in changed}}
        for name in removed:
            del topics[name]
        return replace(self, topics=topics)

    def with_configs(self, changed: Mapping[tuple[str, str], Mapping[str, str]]) -> ControllerState:
        """This state with the configs of some (kind, name) replaced."""
        return replace(self, entity_configs={**self.entity_configs, **changed})

    def check_invariants(self) -> None:
        """Leaders are in sync, ISRs are subsets of the replicas; a topic is either there or being deleted."""
        assert not self.deleting.keys() & self.topics.keys()
        for topic in self.topics.values():
            for partition in topic.partitions:
                assert set(partition.isr) <= set(partition.replicas), topic.name
                assert partition.leader in (*partition.isr, NO_LEADER), topic.name


Request = tuple[int, "News"]
"""What a broker shall be told, after the broker's id."""


class Decision(Struct, Generic[T], frozen=True):
    """What follows from one event."""

    state: ControllerState
    answer: T
    writes: Sequence[Op] = ()
    requests: Sequence[Request] = ()
    revise: Callable[[ControllerState], T] | None = None
    """Where the answer depends on what the brokers reply: makes it from the state after their replies."""


class Event(Protocol[T]):
    """Something that happened or is asked for."""

    def decide(self, state: ControllerState) -> Decision[T]:
        """The consequences. Pure: the same state and event give the same decision."""

    def refused(self, error: ErrorCode) -> T:
        """The answer when the controller could not act on the event."""


def change_leader(
    topic: ControlledTopic, index: int, leader: int, isr: tuple[int, ...], controller_epoch: int
) -> tuple[ControlledPartition, Op]:
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


def encode_state(partition: ControlledPartition, controller_epoch: int) -> bytes:
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
