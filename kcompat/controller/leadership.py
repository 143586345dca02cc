"""Events about brokers and leaders. Pure.

`BrokerStarted`: a broker has registered with a new broker epoch. Whatever it led, it led in its former life,
so each partition that has no leader or had this one elects again, by Kafka's rule for offline partitions: the
first replica in assignment order that is live and in the ISR; the ISR becomes its live members.
`ReplicasFailed`: a broker could not take or lost replicas (a log directory is offline): they are led by
nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.image import NO_LEADER
from kcompat.controller.state import (
    AssignedPartition,
    Decision,
    LeaderAndIsr,
    UpdateMetadata,
    change_leader,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kcompat.cluster.image import BrokerInfo, ClusterImage, PartitionInfo, TopicImage
    from kcompat.cluster.store import Op
    from kcompat.controller.state import ControllerState
    from kcompat.protocol.errors import ErrorCode

    NewLeader = Callable[[str, int, PartitionInfo], tuple[int, tuple[int, ...]] | None]


class BrokerStarted(Struct, frozen=True):
    """A broker is here, with a new broker epoch."""

    broker: BrokerInfo

    def decide(self, state: ControllerState) -> Decision[None]:
        """Elect leaders, tell the broker its roles and show it the picture."""
        broker = self.broker
        image = state.image.with_brokers({**state.image.brokers, broker.id: broker})

        def elect(_topic: str, _index: int, partition: PartitionInfo) -> tuple[int, tuple[int, ...]] | None:
            if broker.id not in partition.replicas or partition.leader not in (broker.id, NO_LEADER):
                return None
            isr = tuple(replica for replica in partition.isr if replica in image.brokers)
            leader = next((replica for replica in partition.replicas if replica in isr), None)
            return None if leader is None else (leader, isr)

        return _relead(state, image, image.topics.values(), elect)

    def refused(self, error: ErrorCode) -> None:
        """Nobody waits for an answer."""


class ReplicasFailed(Struct, frozen=True):
    """A broker has no working log for these partitions."""

    broker_id: int
    partitions: frozenset[tuple[str, int]]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Leave them without a leader; the only member of an ISR stays in it."""

        def depose(topic: str, index: int, partition: PartitionInfo) -> tuple[int, tuple[int, ...]] | None:
            if (topic, index) not in self.partitions or partition.leader != self.broker_id:
                return None
            return NO_LEADER, partition.isr

        names = {topic for topic, _ in self.partitions}
        topics = [topic for name, topic in state.image.topics.items() if name in names]
        return _relead(state, state.image, topics, depose)

    def refused(self, error: ErrorCode) -> None:
        """Nobody waits for an answer."""


def _relead(
    state: ControllerState, image: ClusterImage, topics: Iterable[TopicImage], new_leader: NewLeader
) -> Decision[None]:
    """Give partitions the leader and ISR that `new_leader` says, where it says any."""
    writes: list[Op] = []
    changed: list[TopicImage] = []
    assigned: list[AssignedPartition] = []
    for topic in topics:
        partitions = list(topic.partitions)
        for index, partition in enumerate(topic.partitions):
            decided = new_leader(topic.name, index, partition)
            if decided is not None:
                partitions[index], write = change_leader(topic, index, *decided, image.controller_epoch)
                writes.append(write)
                assigned.append(_assigned(topic, index, partitions[index], image))
        changed.append(replace(topic, partitions=tuple(partitions)))
    image = image.with_topics(changed)
    requests: Sequence[LeaderAndIsr | UpdateMetadata] = [UpdateMetadata(image)]
    if assigned:
        requests = [LeaderAndIsr(assigned), UpdateMetadata(image)]
    return Decision(replace(state, image=image), None, writes, requests)


def _assigned(
    topic: TopicImage, index: int, partition: PartitionInfo, image: ClusterImage
) -> AssignedPartition:
    configs = image.configs("topics", topic.name)
    return AssignedPartition(topic.name, topic.topic_id, index, partition, configs, is_new=False)
