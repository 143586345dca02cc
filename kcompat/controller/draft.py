"""The changes of one decision, collected step by step. Pure.

An event makes a `Draft` of the state, changes it, and turns it into a `Decision`. However many steps change a
partition, it is written once, with one new leader epoch.

Each broker gets its requests in this order: the live brokers, if they changed; roles; the metadata update;
replicas to stop. So a broker knows the leader that it shall follow, has taken its roles before clients learn
of them, and hides a topic before its logs are deleted. A newly registered broker first gets the whole
metadata image as it was before the decision: until then it can answer no client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from kcompat.cluster.control_requests import StoppedPartition, StopReplica
from kcompat.cluster.znodes import encode_topic, partition_state_path, topic_path
from kcompat.controller.requests import (
    assigned,
    leader_and_isr,
    metadata_update,
    updated_partition,
    updated_partitions,
)
from kcompat.controller.state import ABSENT, Decision, assignment_of, encode_state
from kcompat.store.interface import Create, SetData

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcompat.cluster.control_requests import AssignedPartition, UpdatedPartition
    from kcompat.controller.leader_elections import ElectionResult
    from kcompat.controller.state import ControlledPartition, ControlledTopic, ControllerState, Request
    from kcompat.store.interface import Op
    from kcompat.topics import TopicPartition

T = TypeVar("T")


class Draft:
    """A state under change, with the store writes and control requests that the change needs."""

    def __init__(self, state: ControllerState) -> None:
        self.state = state
        """The state with all changes so far, except those of partitions, which `partition` returns."""
        self.writes: list[Op] = []
        """Writes that go before those of partition states."""
        self.last_writes: dict[str, Op] = {}
        """Writes that go after all other writes, by path."""
        self._partitions: dict[TopicPartition, ControlledPartition] = {}
        self._is_led_anew: set[TopicPartition] = set()
        self._assigned_anew: dict[str, None] = {}
        self._roles: dict[int, dict[TopicPartition, None]] = {}
        self._propagated: dict[TopicPartition, None] = {}
        self._deleted: list[UpdatedPartition] = []
        self._stops: dict[int, dict[TopicPartition, StoppedPartition]] = {}
        self._new: set[TopicPartition] = set()
        self._newly_registered: set[int] = set()
        self._propagates_brokers = False
        self._unclean_elections = 0

    # -- looking -----------------------------------------------------------------------------------------

    def partition(self, topic: str, index: int) -> ControlledPartition:
        """Return a partition with the changes so far."""
        return self._partitions.get((topic, index)) or self.state.topics[topic].partitions[index]

    def partitions(self) -> Iterator[tuple[str, int, ControlledPartition]]:
        """Yield all partitions with the changes so far."""
        changed = self._partitions
        for name, topic in self.state.topics.items():
            for index, partition in enumerate(topic.partitions):
                yield name, index, changed.get((name, index), partition) if changed else partition

    # -- changing partitions -----------------------------------------------------------------------------

    def elect(self, topic: str, index: int, result: ElectionResult) -> None:
        """Give a partition a leader and an ISR in a new leader epoch, and send the role to its replicas."""
        former = self.partition(topic, index)
        self._unclean_elections += bool(former.isr) and result.leader not in former.isr
        changed = replace(
            former,
            leader=result.leader,
            isr=result.isr,
            leader_recovery_state=result.leader_recovery_state,
        )
        self.lead_anew(topic, index, changed)

    def lead_anew(
        self, topic: str, index: int, partition: ControlledPartition, brokers: Iterable[int] | None = None
    ) -> None:
        """Raise the leader epoch of a changed partition, and send the role to `brokers`, by default to its
        replicas.
        """
        key = (topic, index)
        if key not in self._is_led_anew:
            self._is_led_anew.add(key)
            partition = replace(partition, leader_epoch=partition.leader_epoch + 1)
        self._store(key, partition)
        self.send_roles(topic, index, partition.replicas if brokers is None else brokers)

    def alter(self, topic: str, index: int, partition: ControlledPartition) -> None:
        """Store a changed partition in its leader epoch; its replicas get no request."""
        self._store((topic, index), partition)

    def assign(self, topic: str, index: int, partition: ControlledPartition) -> None:
        """Change the replicas of a partition. Assignments are written last: until then the znode has the
        replicas that the reassignment removes, so after a crash it can be resumed.
        """
        self._partitions[topic, index] = partition
        self._propagated[topic, index] = None
        self._assigned_anew[topic] = None

    def _store(self, key: TopicPartition, partition: ControlledPartition) -> None:
        """Note a changed partition. Its znode is written once, so the partition epoch grows by one."""
        stored = self.state.topics[key[0]].partitions[key[1]].partition_epoch
        if stored == ABSENT:
            partition = replace(partition, leader_epoch=0)
            self._new.add(key)
        self._partitions[key] = replace(partition, partition_epoch=stored + 1)
        self._propagated[key] = None

    # -- telling brokers ---------------------------------------------------------------------------------

    def send_roles(self, topic: str, index: int, brokers: Iterable[int]) -> None:
        """Send the role in a partition to the live ones of these brokers."""
        for broker_id in brokers:
            if broker_id in self.state.brokers:
                self._roles.setdefault(broker_id, {})[topic, index] = None

    def is_new(self, topic: str, index: int) -> None:
        """Mark a partition as new, so that its replicas may create their logs."""
        self._new.add((topic, index))

    def propagate(self, topic: str, index: int) -> None:
        """Send the metadata of an unchanged partition to all brokers."""
        self._propagated[topic, index] = None

    def propagate_deleted(self, partitions: Iterable[UpdatedPartition]) -> None:
        """Send all brokers the removal of these partitions from their images."""
        self._deleted.extend(partitions)

    def stop(self, broker_id: int, topic: str, index: int, leader_epoch: int, *, delete: bool) -> None:
        """Stop a replica, if its broker is live."""
        if broker_id in self.state.brokers:
            stopped = StoppedPartition(topic, index, leader_epoch, delete)
            self._stops.setdefault(broker_id, {})[topic, index] = stopped

    def propagate_brokers(self) -> None:
        """Send all brokers the live brokers, before other requests."""
        self._propagates_brokers = True

    def propagate_all_to(self, broker_id: int) -> None:
        """Send the whole metadata image to a newly registered broker, before other requests."""
        self._newly_registered.add(broker_id)

    # -- the decision ------------------------------------------------------------------------------------

    def decision(self, answer: T) -> Decision[T]:
        """Return the decision that the draft has become, with the answer of its event."""
        before, after = self.state, self._after()
        writes: list[Op] = list(self.writes)
        for (name, index), partition in self._partitions.items():
            topic = before.topics.get(name)
            if topic is None or topic.partitions[index].partition_epoch == partition.partition_epoch:
                continue
            path, data = partition_state_path(name, index), encode_state(partition, after.epoch)
            if partition.partition_epoch == 0:
                writes.append(Create(path, data))
            else:
                writes.append(SetData(path, data, partition.partition_epoch - 1))
        writes.extend(
            SetData(topic_path(name), encode_topic(assignment_of(after.topics[name])))
            for name in self._assigned_anew
        )
        writes += self.last_writes.values()
        requests = list(self._requests(after))
        return Decision(after, answer, writes, requests, unclean=self._unclean_elections)

    def _after(self) -> ControllerState:
        if not self._partitions:
            return self.state
        by_topic: dict[str, dict[int, ControlledPartition]] = {}
        for (name, index), partition in self._partitions.items():
            by_topic.setdefault(name, {})[index] = partition
        changed: list[ControlledTopic] = []
        for name, partitions in by_topic.items():
            topic = self.state.topics[name]
            merged = (partitions.get(index, old) for index, old in enumerate(topic.partitions))
            changed.append(replace(topic, partitions=tuple(merged)))
        return self.state.with_topics(changed)

    def _requests(self, after: ControllerState) -> Iterator[Request]:
        changed = [updated_partition(after, after.topics[name], index) for name, index in self._propagated]
        changes = metadata_update(after, [*changed, *self._deleted])
        brokers_alone = metadata_update(after)
        everything = (
            metadata_update(after, updated_partitions(self.state, self.state.topics.values()))
            if self._newly_registered
            else None
        )
        for broker_id in after.brokers:
            if everything is not None and broker_id in self._newly_registered:
                yield broker_id, everything
            elif self._propagates_brokers:
                yield broker_id, brokers_alone
            if broker_id in self._roles:
                yield broker_id, leader_and_isr(after, list(self._assigned(after, broker_id)))
            if changed or self._deleted:
                yield broker_id, changes
            if broker_id in self._stops:
                stopped = list(self._stops[broker_id].values())
                yield broker_id, StopReplica(after.broker_id, after.epoch, stopped)

    def _assigned(self, after: ControllerState, broker_id: int) -> Iterator[AssignedPartition]:
        for name, index in self._roles[broker_id]:
            topic = after.topics[name]
            is_new = (name, index) in self._new or broker_id in topic.partitions[index].adding
            if topic.partitions[index].partition_epoch != ABSENT:
                yield assigned(topic, index, is_new=is_new)
