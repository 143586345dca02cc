"""The controller's state and its decisions. Pure.

Deciding an event on a state gives a `Decision`: store operations, the state once they are durable, ordered
requests to brokers, and the answer for the caller. Kafka's rule for every decision about a leader or an ISR:
the leader epoch grows by one (in ZooKeeper mode, for all but AlterPartition).

Brokers get another type, `kcompat.cluster.image`; `requests` makes it from this state.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.znodes import StoredPartitionState, TopicAssignment, encode_partition_state
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
    """Supported levels by feature."""


class ControlledPartition(Struct, frozen=True, gc=False):
    """The stored state of a partition. `partition_epoch` is the version of its znode, ABSENT until a replica
    has been live and the znode was created.

    During a reassignment `replicas` are the target ones, then those in `removing`; `adding` are the new ones
    of the target.
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
        """Whether a reassignment of the partition is in progress."""
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """Replicas of the partition after its reassignment."""
        return tuple(each for each in self.replicas if each not in self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """Replicas before the reassignment; their original order may be lost."""
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
        """Ids of all brokers that have replicas of the topic."""
        return frozenset(broker_id for partition in self.partitions for broker_id in partition.replicas)


class TopicDeletion(Struct, frozen=True, gc=False):
    """A topic marked for deletion and hidden from clients; `waits_for` are the brokers that still have logs
    of it, also dead ones.
    """

    topic: ControlledTopic
    waits_for: frozenset[int] = frozenset()


class ControllerState(Struct, frozen=True):
    """Everything that the controller decides on. The mappings must not be changed."""

    broker_id: int
    """The broker that is the controller."""
    epoch: int
    epoch_version: int
    """Version of `/controller_epoch` since this controller's election: the guard of every write."""
    brokers: Mapping[int, RegisteredBroker] = {}
    """Registered brokers that are not presumed dead, also those that are shutting down."""
    topics: Mapping[str, ControlledTopic] = {}
    entity_configs: Mapping[tuple[str, str], Mapping[str, str]] = {}
    """Dynamic configs by (kind, name), also those of topics that are being deleted."""
    deleting: Mapping[str, TopicDeletion] = {}
    last_producer_id: int = -1
    producer_ids_version: int = ABSENT
    shutting_down: frozenset[int] = frozenset()
    """Brokers in controlled shutdown; they join no ISR."""
    wanted_by_tool: Mapping[tuple[str, int], tuple[int, ...]] = {}
    """Unfinished reassignments that older tools have put in `/admin/reassign_partitions`."""
    failed: frozenset[tuple[int, str, int]] = frozenset()
    """Replicas whose disk has failed, by broker, topic and index."""
    marked: frozenset[str] = frozenset()
    """Topics that other brokers or tools have marked for deletion."""
    deposed: frozenset[tuple[str, int]] = frozenset()
    """Partitions whose leader has registered anew since its election, and so no longer leads them."""
    elects_uncleanly: bool = False
    """`unclean.leader.election.enable` of the brokers; configs of topics take precedence."""
    presumed_dead: Mapping[int, RegisteredBroker] = {}
    """Brokers that are registered, and whose processes have ended."""
    finalized: Mapping[str, int] = {}
    """Finalized levels by feature."""
    features_version: int = ABSENT

    def is_live(self, broker_id: int, topic: str, index: int) -> bool:
        """Return whether a replica may lead or be in sync: its broker is live and not shutting down, its disk
        works.
        """
        return (
            broker_id in self.brokers
            and broker_id not in self.shutting_down
            and (not self.failed or (broker_id, topic, index) not in self.failed)
        )

    @property
    def live_brokers(self) -> frozenset[int]:
        """Ids of the brokers that are live and not shutting down."""
        return frozenset(self.brokers) - self.shutting_down

    def may_elect_uncleanly(self, topic: str) -> bool:
        """Return whether a replica out of sync may lead if no replica of the ISR is live."""
        own = self.configs("topics", topic).get("unclean.leader.election.enable")
        return self.elects_uncleanly if own is None else own == "true"

    def configs(self, kind: str, name: str) -> Mapping[str, str]:
        """Return the dynamic configs of an entity; empty if none are set."""
        return self.entity_configs.get((kind, name), _NOTHING)

    def with_topics(
        self, changed: Iterable[ControlledTopic], removed: Collection[str] = ()
    ) -> ControllerState:
        """Return this state with topics added or replaced, and others removed."""
        topics = {**self.topics, **{topic.name: topic for topic in changed}}
        for name in removed:
            del topics[name]
        return replace(self, topics=topics)

    def with_configs(self, changed: Mapping[tuple[str, str], Mapping[str, str]]) -> ControllerState:
        """Return this state with the configs of some (kind, name) replaced."""
        return replace(self, entity_configs={**self.entity_configs, **changed})

    def check_invariants(self) -> None:
        """Assert that leaders are in sync, that ISRs are subsets of the replicas, and that no topic is both
        present and being deleted.
        """
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
"""A broker's id and the control request for it."""


class Decision(Struct, Generic[T], frozen=True):
    """The consequences of one event."""

    state: ControllerState
    answer: T
    writes: Sequence[Op] = ()
    requests: Sequence[Request] = ()
    revise: Callable[[ControllerState], T] | None = None
    """Function that makes the answer from the state after the brokers' replies, if it depends on them."""
    next: Event[None] | None = None
    """Event to decide next, before the waiting events."""
    unclean: int = 0
    """Number of partitions that get a leader from outside their ISR."""


class Event(Protocol[T]):
    """A change or a request on which the controller decides."""

    def decide(self, state: ControllerState) -> Decision[T]:
        """Return what follows from the event. Pure: the same state and event give the same decision."""

    def refused(self, error: ErrorCode) -> T:
        """Return the answer for a caller whose event could not be decided."""


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
    """Return the payload of a partition's state znode."""
    return encode_partition_state(
        StoredPartitionState(
            partition.leader,
            partition.leader_epoch,
            controller_epoch,
            partition.isr,
            partition.leader_recovery_state,
        )
    )
