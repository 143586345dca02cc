"""Events about brokers and leaders. Pure.

`BrokerStarted`: a broker has registered with a new broker epoch. It has not taken up any leadership yet, so a
leader is elected for each of its partitions that has none or was led by it, by Kafka's rule for offline
partitions: the first replica in assignment order that is live and in the ISR; the ISR becomes its live
members. `ReplicasFailed`: a broker could not take replicas, or lost them (a log directory is offline): those
it led are led by nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.image import NO_LEADER
from kcompat.controller.deletion import forget, stop_replicas
from kcompat.controller.requests import (
    assigned,
    picture,
    roles,
    shown,
    shown_partition,
    to_all,
)
from kcompat.controller.state import Decision, change_leader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from kcompat.cluster.news import AssignedPartition, ShownPartition
    from kcompat.cluster.store import Op
    from kcompat.controller.state import (
        ControlledPartition,
        ControlledTopic,
        ControllerState,
        RegisteredBroker,
        Request,
    )
    from kcompat.protocol.errors import ErrorCode

    NewLeader = Callable[[str, int, ControlledPartition], tuple[int, tuple[int, ...]] | None]


class BrokerStarted(Struct, frozen=True):
    """A broker has registered, with a new broker epoch."""

    broker: RegisteredBroker

    def decide(self, state: ControllerState) -> Decision[None]:
        """Elect leaders, tell the broker its roles, show it everything, and resume deletions."""
        broker_id = self.broker.info.id
        state = replace(state, brokers={**state.brokers, broker_id: self.broker})
        brokers = state.brokers

        def elect(
            _topic: str, _index: int, partition: ControlledPartition
        ) -> tuple[int, tuple[int, ...]] | None:
            if broker_id not in partition.replicas or partition.leader not in (broker_id, NO_LEADER):
                return None
            isr = tuple(replica for replica in partition.isr if replica in brokers)
            leader = next((replica for replica in partition.replicas if replica in isr), None)
            return None if leader is None else (leader, isr)

        led = _relead(state, state.topics.values(), elect)
        after, removals = _without_empty_marks(led.state)
        after, stops = stop_replicas(after, [deletion.topic for deletion in after.deleting.values()])
        others = [each for each in brokers if each != broker_id]
        requests: list[Request] = [*roles(after, led.assigned)]
        requests.append((broker_id, picture(after, shown(after, after.topics.values()))))
        if others:
            changed = picture(after, led.shown(after))
            requests.extend((other, changed) for other in others)
        return Decision(after, None, [*led.writes, *removals], [*requests, *stops])

    def refused(self, error: ErrorCode) -> None:
        """Nobody waits for an answer."""


class ReplicasFailed(Struct, frozen=True):
    """A broker has no working log for these partitions."""

    broker_id: int
    partitions: AbstractSet[tuple[str, int]]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Leave those that the broker led without a leader; their ISR stays as it is."""

        def depose(
            topic: str, index: int, partition: ControlledPartition
        ) -> tuple[int, tuple[int, ...]] | None:
            if (topic, index) not in self.partitions or partition.leader != self.broker_id:
                return None
            return NO_LEADER, partition.isr

        names = {topic for topic, _ in self.partitions}
        led = _relead(state, [topic for name, topic in state.topics.items() if name in names], depose)
        if not led.writes:
            return Decision(state, None)
        pictures = to_all(led.state, picture(led.state, led.shown(led.state)))
        return Decision(led.state, None, led.writes, [*roles(led.state, led.assigned), *pictures])

    def refused(self, error: ErrorCode) -> None:
        """Nobody waits for an answer."""


class _Led(Struct, frozen=True):
    """Leaders changed: the state after it, its writes, and the partitions concerned by topic and index."""

    state: ControllerState
    writes: list[Op]
    changed: list[tuple[ControlledTopic, int]]

    @property
    def assigned(self) -> list[AssignedPartition]:
        """The roles to take."""
        return [assigned(topic, index, is_new=False) for topic, index in self.changed]

    def shown(self, state: ControllerState) -> Iterator[ShownPartition]:
        """What clients are shown of it."""
        return (shown_partition(state, topic, index) for topic, index in self.changed)


def _relead(state: ControllerState, topics: Iterable[ControlledTopic], new_leader: NewLeader) -> _Led:
    """Give partitions the leader and ISR that `new_leader` says, where it says any."""
    writes: list[Op] = []
    changed: list[tuple[ControlledTopic, int]] = []
    for topic in topics:
        partitions = list(topic.partitions)
        indexes = []
        for index, partition in enumerate(topic.partitions):
            decided = new_leader(topic.name, index, partition)
            if decided is not None:
                partitions[index], write = change_leader(topic, index, *decided, state.epoch)
                writes.append(write)
                indexes.append(index)
        if indexes:
            after = replace(topic, partitions=tuple(partitions))
            changed.extend((after, index) for index in indexes)
    return _Led(state.with_topics(topic for topic, _ in changed), writes, changed)


def _without_empty_marks(state: ControllerState) -> tuple[ControllerState, list[Op]]:
    """Drop the marks of topics without partitions in the store: there is nothing else to delete."""
    empty = [name for name, deletion in state.deleting.items() if not deletion.topic.partitions]
    entity_configs = dict(state.entity_configs)
    writes = [write for name in empty for write in forget(name, entity_configs)]
    deleting = {name: deletion for name, deletion in state.deleting.items() if name not in empty}
    return replace(state, deleting=deleting, entity_configs=entity_configs), writes
