"""Events that delete topics. Pure.

Deletion has two steps, as in Kafka. First the topics are marked under `/admin/delete_topics`, hidden from
clients, and their replicas stopped. When every broker with replicas has replied that its logs are gone, the
znodes and the marks are removed. After a crash in between, the marks let a new controller resume. A topic
whose logs could not be deleted, or that has a replica on a dead broker, stays marked: its name cannot be
used, and the broker gets the request again when it has restarted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.control_requests import LEADER_EPOCH_DURING_DELETION
from kcompat.cluster.znodes import (
    config_path,
    delete_topic_path,
    partition_path,
    partition_state_path,
    topic_path,
)
from kcompat.controller.draft import Draft
from kcompat.controller.requests import deleted_partitions
from kcompat.controller.state import ABSENT, Decision, TopicDeletion
from kcompat.controller.values import TopicOutcome
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, Delete

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from kcompat.controller.state import ControlledTopic, ControllerState
    from kcompat.store.interface import Op

    Outcomes = Mapping[str, TopicOutcome]


class DeleteTopics(Struct, frozen=True):
    """Event: delete topics by name."""

    names: Sequence[str]

    def decide(self, state: ControllerState) -> Decision[Outcomes]:
        """Mark the topics that exist, hide them, have their replicas stopped."""
        topics = {name: state.topics[name] for name in self.names if name in state.topics}
        outcomes = {
            name: TopicOutcome() if name in topics else TopicOutcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            for name in self.names
        }
        if not topics:
            return Decision(state, outcomes)

        def revise(after: ControllerState) -> Outcomes:
            stuck = {name for name, topic in topics.items() if _is_stuck(after, topic)}
            return {
                name: TopicOutcome(ErrorCode.REQUEST_TIMED_OUT) if name in stuck else outcome
                for name, outcome in outcomes.items()
            }

        draft = Draft(state)
        draft.writes += [Create(delete_topic_path(name)) for name in topics if name not in state.marked]
        start_deletions(draft, topics.values())
        return replace(draft.decision(outcomes), revise=revise)

    def refused(self, error: ErrorCode) -> Outcomes:
        """Return `error` for every topic of the request."""
        return {name: TopicOutcome(error) for name in self.names}


class DeletionsMarked(Struct, frozen=True):
    """The marks under `/admin/delete_topics`, some of which another broker or a tool may have made."""

    marked: AbstractSet[str]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Delete the topics that are marked and not being deleted yet; drop the marks of topics that do not
        exist.
        """
        known = [state.topics[name] for name in sorted(self.marked) if name in state.topics]
        unknown = sorted(self.marked - state.topics.keys() - state.deleting.keys())
        draft = Draft(state)
        draft.writes += [Delete(delete_topic_path(name)) for name in unknown]
        start_deletions(draft, known)
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


class ReplicasStopped(Struct, frozen=True):
    """Reply of a broker to StopReplica: it has deleted the logs, except those that `failed`."""

    broker_id: int
    partitions: Sequence[tuple[str, int]]
    failed: AbstractSet[tuple[str, int]]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Remove the znodes of the topics that wait for no broker any more."""
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
        gone = state.deleting.keys() - deleting.keys()
        failed = frozenset(replica for replica in state.failed if replica[1] not in gone)
        after = replace(state, deleting=deleting, entity_configs=entity_configs, failed=failed)
        return Decision(after, None, writes)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


def start_deletions(draft: Draft, topics: Collection[ControlledTopic]) -> None:
    """Hide these topics, and send StopReplica to every broker with a replica of them."""
    if not topics:
        return
    state = draft.state
    deleting = {**state.deleting, **{topic.name: TopicDeletion(topic, topic.brokers) for topic in topics}}
    removed = [topic.name for topic in topics]
    draft.state = replace(state.with_topics((), removed), deleting=deleting)
    draft.propagate_deleted(deleted_partitions(topics))
    resume_deletions(draft, state.brokers.keys(), removed)
    drop_empty_marks(draft)


def resume_deletions(draft: Draft, brokers: Collection[int], names: Iterable[str] | None = None) -> None:
    """Send StopReplica to these brokers for the topics being deleted: for `names`, or for all if None."""
    deleting = draft.state.deleting
    for deletion in deleting.values() if names is None else [deleting[name] for name in names]:
        for broker_id in sorted(deletion.waits_for.intersection(brokers)):
            for index, partition in enumerate(deletion.topic.partitions):
                if broker_id in partition.replicas:
                    name = deletion.topic.name
                    draft.stop(broker_id, name, index, LEADER_EPOCH_DURING_DELETION, delete=True)


def drop_empty_marks(draft: Draft) -> None:
    """Drop the marks of topics without partitions: no broker has anything to delete."""
    state = draft.state
    empty = [deletion.topic for deletion in state.deleting.values() if not deletion.topic.partitions]
    if not empty:
        return
    entity_configs = dict(state.entity_configs)
    for topic in empty:
        draft.writes += forget(topic.name, entity_configs)
    gone = {topic.name for topic in empty}
    deleting = {name: deletion for name, deletion in state.deleting.items() if name not in gone}
    draft.state = replace(state, deleting=deleting, entity_configs=entity_configs)


def forget(name: str, entity_configs: dict[tuple[str, str], Mapping[str, str]]) -> list[Op]:
    """Remove a topic's configs, in the store and in `entity_configs`, and its mark."""
    writes: list[Op] = []
    if entity_configs.pop(("topics", name), None) is not None:
        writes.append(Delete(config_path("topics", name)))
    writes.append(Delete(delete_topic_path(name)))
    return writes


def _is_stuck(state: ControllerState, topic: ControlledTopic) -> bool:
    """Return whether the controller's own broker still has logs of this topic."""
    deletion = state.deleting.get(topic.name)
    return deletion is not None and deletion.topic is topic and state.broker_id in deletion.waits_for


def _removal(topic: ControlledTopic) -> list[Op]:
    """Return the operations that remove the nodes of a topic, children first."""
    writes: list[Op] = []
    for index, partition in enumerate(topic.partitions):
        if partition.partition_epoch != ABSENT:
            writes.append(Delete(partition_state_path(topic.name, index)))
        writes.append(Delete(partition_path(topic.name, index)))
    writes.append(Delete(f"{topic_path(topic.name)}/partitions"))
    writes.append(Delete(topic_path(topic.name)))
    return writes
