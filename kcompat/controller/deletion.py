"""Events that delete topics. Pure.

Deletion has two steps, as in Kafka: mark the topics under `/admin/delete_topics`, hide them and have their
replicas stopped; once every broker has answered that its logs are gone, remove the znodes and the marks. A
crash in between resumes from the marks. A topic whose logs could not be deleted stays marked: its name cannot
be used, and the next start tries again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.news import LEADER_EPOCH_DURING_DELETION, StoppedPartition, StopReplica
from kcompat.cluster.store import Create, Delete
from kcompat.cluster.znodes import (
    config_path,
    delete_topic_path,
    partition_path,
    partition_state_path,
    topic_path,
)
from kcompat.controller.requests import hidden, picture, to_all
from kcompat.controller.state import Decision, Deletion
from kcompat.controller.values import Outcome
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from kcompat.cluster.store import Op
    from kcompat.controller.state import ControlledTopic, ControllerState, Request

    Outcomes = Mapping[str, Outcome]


class DeleteTopics(Struct, frozen=True):
    """Delete topics by name."""

    names: Sequence[str]

    def decide(self, state: ControllerState) -> Decision[Outcomes]:
        """Mark the topics that exist, hide them, have their replicas stopped."""
        topics = {name: state.topics[name] for name in self.names if name in state.topics}
        outcomes = {
            name: Outcome() if name in topics else Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            for name in self.names
        }
        if not topics:
            return Decision(state, outcomes)

        def revise(after: ControllerState) -> Outcomes:
            stuck = {name for name, topic in topics.items() if _is_stuck(after, topic)}
            return {
                name: Outcome(ErrorCode.REQUEST_TIMED_OUT) if name in stuck else outcome
                for name, outcome in outcomes.items()
            }

        after, stops = stop_replicas(state.with_topics((), topics), topics.values())
        return Decision(
            after,
            outcomes,
            [Create(delete_topic_path(name)) for name in topics],
            [*to_all(after, picture(after, hidden(topics.values()))), *stops],
            revise,
        )

    def refused(self, error: ErrorCode) -> Outcomes:
        """The same error for every topic."""
        return {name: Outcome(error) for name in self.names}


class ReplicasStopped(Struct, frozen=True):
    """A broker has answered StopReplica: the logs are gone, but for those that `failed`."""

    broker_id: int
    partitions: Sequence[tuple[str, int]]
    failed: AbstractSet[tuple[str, int]]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Remove what the store has of the topics that wait for no broker any more."""
        stuck = {topic for topic, _ in self.failed}
        deleting = dict(state.deleting)
        writes: list[Op] = []
        entity_configs = dict(state.entity_configs)
        for name in dict.fromkeys(topic for topic, _ in self.partitions):
            deletion = deleting.get(name)
            if deletion is None or name in stuck:
                continue
            waits_for = deletion.waits_for - {self.broker_id}
            if waits_for:
                deleting[name] = replace(deletion, waits_for=waits_for)
            else:
                del deleting[name]
                writes.extend(_removal(deletion.topic))
                writes.extend(forget(name, entity_configs))
        return Decision(replace(state, deleting=deleting, entity_configs=entity_configs), None, writes)

    def refused(self, error: ErrorCode) -> None:
        """Nobody waits for an answer."""


def stop_replicas(
    state: ControllerState, topics: Iterable[ControlledTopic]
) -> tuple[ControllerState, list[Request]]:
    """Have the logs of these topics deleted by the live brokers that have some. Where none is left that has,
    the controller's own broker is asked, so that deletion goes on.
    """
    deleting = dict(state.deleting)
    stops: dict[int, list[tuple[str, int]]] = {}
    for topic in topics:
        by_broker: dict[int, list[tuple[str, int]]] = {}
        for index, partition in enumerate(topic.partitions):
            for broker_id in partition.replicas:
                if broker_id in state.brokers:
                    by_broker.setdefault(broker_id, []).append((topic.name, index))
        if not by_broker:
            by_broker[state.broker_id] = [(topic.name, index) for index in range(len(topic.partitions))]
        deleting[topic.name] = Deletion(topic, frozenset(by_broker))
        for broker_id, partitions in by_broker.items():
            stops.setdefault(broker_id, []).extend(partitions)
    after = replace(state, deleting=deleting)
    return after, [
        (broker_id, StopReplica(state.broker_id, state.epoch, [_to_delete(each) for each in partitions]))
        for broker_id, partitions in stops.items()
    ]


def forget(name: str, entity_configs: dict[tuple[str, str], Mapping[str, str]]) -> list[Op]:
    """Remove a topic's configs, from `entity_configs` as well, and its mark."""
    writes: list[Op] = []
    if entity_configs.pop(("topics", name), None) is not None:
        writes.append(Delete(config_path("topics", name)))
    writes.append(Delete(delete_topic_path(name)))
    return writes


def _to_delete(partition: tuple[str, int]) -> StoppedPartition:
    return StoppedPartition(*partition, LEADER_EPOCH_DURING_DELETION, delete=True)


def _is_stuck(state: ControllerState, topic: ControlledTopic) -> bool:
    """Whether the controller's own broker still has logs of this topic."""
    deletion = state.deleting.get(topic.name)
    return deletion is not None and deletion.topic is topic and state.broker_id in deletion.waits_for


def _removal(topic: ControlledTopic) -> list[Op]:
    """Children first."""
    writes: list[Op] = []
    for index in range(len(topic.partitions)):
        writes.append(Delete(partition_state_path(topic.name, index)))
        writes.append(Delete(partition_path(topic.name, index)))
    writes.append(Delete(f"{topic_path(topic.name)}/partitions"))
    writes.append(Delete(topic_path(topic.name)))
    return writes
