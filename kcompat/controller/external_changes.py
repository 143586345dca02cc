"""Events for changes that other brokers or tools have written into the store. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.controller.draft import Draft
from kcompat.controller.offline_replicas import elect_offline
from kcompat.controller.reassignment import ReplicasCaughtUp
from kcompat.controller.requests import deleted_partitions, to_all, topic_configs
from kcompat.controller.state import ABSENT, Decision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from kcompat.cluster.znodes import StoredPartitionState
    from kcompat.controller.state import ControlledTopic, ControllerState
    from kcompat.protocol.errors import ErrorCode


class TopicsFound(Struct, frozen=True):
    """Topics that another writer has created, with their configs, and the names of topics that it removed."""

    topics: Sequence[ControlledTopic]
    configs: Mapping[str, Mapping[str, str]] = {}
    gone: AbstractSet[str] = frozenset()

    def decide(self, state: ControllerState) -> Decision[None]:
        """Elect leaders of the new topics and send their roles; remove the others from the images."""
        known = state.topics.keys() | state.deleting.keys()
        new = [topic for topic in self.topics if topic.name not in known]
        gone = [state.topics[name] for name in sorted(self.gone) if name in state.topics]
        deleting = {name: each for name, each in state.deleting.items() if name not in self.gone}
        update = topic_configs({topic.name: self.configs.get(topic.name, {}) for topic in new})
        after = state.with_topics(new, [topic.name for topic in gone]).with_configs(update.changed)
        draft = Draft(replace(after, deleting=deleting))
        draft.propagate_deleted(deleted_partitions(gone))
        for topic in new:
            _take_up(draft, topic, 0)
        decision = draft.decision(None)
        if not new:
            return decision
        return replace(decision, requests=[*to_all(after, update), *decision.requests])

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


class PartitionsFound(Struct, frozen=True):
    """A topic to which another writer has added partitions."""

    topic: ControlledTopic

    def decide(self, state: ControllerState) -> Decision[None]:
        """Elect leaders of the new partitions, and send their roles."""
        known = state.topics.get(self.topic.name)
        if known is None:
            return Decision(state, None)
        first = len(known.partitions)
        topic = replace(known, partitions=known.partitions + self.topic.partitions[first:])
        draft = Draft(state.with_topics([topic]))
        _take_up(draft, topic, first)
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


class IsrsChanged(Struct, frozen=True):
    """Stored states of partitions, with the versions of their znodes."""

    states: Mapping[tuple[str, int], tuple[StoredPartitionState, int]]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Take over the states that are newer than the known ones, and propagate them."""
        changed: dict[str, ControlledTopic] = {}
        newer = []
        for (name, index), (stored, version) in self.states.items():
            topic = changed.get(name) or state.topics.get(name)
            if topic is None or index >= len(topic.partitions):
                continue
            partition = topic.partitions[index]
            if version <= partition.partition_epoch:
                continue
            partitions = list(topic.partitions)
            partitions[index] = replace(
                partition,
                leader=stored.leader,
                leader_epoch=stored.leader_epoch,
                isr=stored.isr,
                leader_recovery_state=stored.leader_recovery_state,
                partition_epoch=version,
            )
            changed[name] = replace(topic, partitions=tuple(partitions))
            newer.append((name, index))
        if not newer:
            return Decision(state, None)
        draft = Draft(state.with_topics(changed.values()))
        for name, index in newer:
            draft.propagate(name, index)
        return replace(draft.decision(None), next=ReplicasCaughtUp(newer))

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


def _take_up(draft: Draft, topic: ControlledTopic, first: int) -> None:
    """Elect leaders of the partitions from index `first` on, and send the roles of those that have a
    leader.
    """
    for index in range(first, len(topic.partitions)):
        partition = topic.partitions[index]
        if partition.partition_epoch != ABSENT:
            draft.is_new(topic.name, index)
            draft.send_roles(topic.name, index, partition.replicas)
        draft.propagate(topic.name, index)
    elect_offline(draft, [(topic.name, index) for index in range(first, len(topic.partitions))])
