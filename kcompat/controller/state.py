"""The controller's state and its decisions. Pure.

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

from kcompat.cluster.znodes import PartitionState, TopicAssignment, encode_partition_state
from kcompat.protocol.constants import NO_LEADER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kcompat.cluster.control_requests import ControlRequest
    from kcompat.cluster.feature_levels import Levels
    from kcompat.cluster.image import BrokerInfo
    from kcompat.protocol.errors import ErrorCode
    from kcompat.store.interface import Op

T = TypeVar("T")

RECOVERED, RECOVERING = 0, 1
"""Leader recovery states (KIP-704)."""

ABSENT = -1
"""The znode version that stands for a node that does not exist yet."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


class RegisteredBroker(Struct, frozen=True, gc=False):
    """A live broker and its broker epoch: the czxid of its registration."""

    info: BrokerInfo
    epoch: int
    features: Mapping[str, Levels] = {}
    """The levels of features that it supports."""


class ControlledPartition(Struct, frozen=True, gc=False):
    """The state of a partition as stored; `partition_epoch` is the version of its znode, ABSENT while there
    is none because no replica was live yet.

    While a reassignment goes on, `replicas` are the wanted ones, then those in `removing`; those in `adding`
    are the wanted ones that are new.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    partition_epoch: int
    leader_recovery_state: int = RECOVERED
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_reassigned(self) -> bool:
        """Whether a reassignment goes on."""
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas that are wanted."""
        return tuple(each for each in self.replicas if each not in self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas before the reassignment, as far as their order is known."""
        return tuple(each for each in self.replicas if each not in self.adding)


class ControlledTopic(Struct, frozen=True, gc=False):
    """A topic and its partitions by index."""

    name: str
    topic_id: bytes
    partitions: tuple[ControlledPartition, ...]

    @property
    def replication_factor(self) -> int:
        """Replicas of the first partition, as Kafka counts it."""
        return len(self.partitions[0].replicas) if self.partitions else 0

    @property
    def brokers(self) -> frozenset[int]:
        """All that have replicas of it."""
        return frozenset(broker_id for partition in self.partitions for broker_id in partition.replicas)


class TopicDeletion(Struct, frozen=True, gc=False):
    """A topic marked for deletion, hidden from clients; `waits_for` are the brokers that have logs of it,
    the dead ones too.
    """

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
    """Registered brokers that are not presumed dead, also those that are shutting down."""
    topics: Mapping[str, ControlledTopic] = {}
    entity_configs: Mapping[tuple[str, str], Mapping[str, str]] = {}
    """Dynamic configs by (kind, name), also those of topics that are being deleted."""
    deleting: Mapping[str, TopicDeletion] = {}
    last_producer_id: int = -1
    producer_ids_version: int = ABSENT
    shutting_down: frozenset[int] = frozenset()
    """Brokers that have asked to be relieved of their leaderships; they are in no new ISR."""
    wanted_by_tool: Mapping[tuple[str, int], tuple[int, ...]] = {}
    """Unfinished reassignments that older tools have put in `/admin/reassign_partitions`."""
    failed: frozenset[tuple[int, str, int]] = frozenset()
    """Replicas whose disk has failed, by broker, topic and index."""
    marked: frozenset[str] = frozenset()
    """Topics that others have marked for deletion."""
    deposed: frozenset[tuple[str, int]] = frozenset()
    """Partitions whose leader has registered anew since it was elected, and leads no more."""
    elects_uncleanly: bool = False
    """`unclean.leader.election.enable` of the brokers; topics may say otherwise."""
    presumed_dead: Mapping[int, RegisteredBroker] = {}
    """Brokers that are registered, and whose processes have ended."""
    finalized: Mapping[str, int] = {}
    """The levels of the features that are finalized."""
    features_version: int = ABSENT

    def is_live(self, broker_id: int, topic: str, index: int) -> bool:
        """Whether a replica may lead or be in sync: its broker is there to stay, and its disk works."""
        return (
            broker_id in self.brokers
            and broker_id not in self.shutting_down
            and (not self.failed or (broker_id, topic, index) not in self.failed)
        )

    @property
    def live_brokers(self) -> frozenset[int]:
        """The brokers that are there to stay."""
        return frozenset(self.brokers) - self.shutting_down

    def may_elect_uncleanly(self, topic: str) -> bool:
        """Whether a replica out of sync may lead where none in sync is live."""
        own = self.configs("topics", topic).get("unclean.leader.election.enable")
        return self.elects_uncleanly if own is None else own == "true"

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
                assert set(partition.adding) | set(partition.removing) <= set(partition.replicas), topic.name
                assert not set(partition.adding) & set(partition.removing), topic.name
                is_absent = partition.partition_epoch == ABSENT
                assert not is_absent or (partition.leader, partition.isr) == (NO_LEADER, ()), topic.name


Request = tuple[int, "ControlRequest"]
"""A broker's id, and the control request for it."""


class Decision(Struct, Generic[T], frozen=True):
    """The consequences of one event."""

    state: ControllerState
    answer: T
    writes: Sequence[Op] = ()
    requests: Sequence[Request] = ()
    revise: Callable[[ControllerState], T] | None = None
    """Where the answer depends on what the brokers reply: makes it from the state after their replies."""
    next: Event[None] | None = None
    """The event to decide after this one, before any request that waits."""


class Event(Protocol[T]):
    """A change that happened, or a request, on which the controller decides."""

    def decide(self, state: ControllerState) -> Decision[T]:
        """The consequences. Pure: the same state and event give the same decision."""

    def refused(self, error: ErrorCode) -> T:
        """The answer when the controller could not act on the event."""


def assignment_of(topic: ControlledTopic) -> TopicAssignment:
    """Return the payload of a topic's znode."""
    partitions = topic.partitions
    return TopicAssignment(
        topic.topic_id,
        tuple(partition.replicas for partition in partitions),
        {index: partition.adding for index, partition in enumerate(partitions) if partition.adding},
        {index: partition.removing for index, partition in enumerate(partitions) if partition.removing},
    )


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
