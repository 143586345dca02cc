"""Events that delete topics. Pure.

Deletion has two steps, as in Kafka: mark the topics under `/admin/delete_topics` and take them out of the
image; once every replica is stopped and its log deleted, remove the znodes and the marks. A crash in between
resumes from the marks. A topic whose logs could not be deleted stays marked: its name cannot be used, and the
next start tries again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.store import Create, Delete
from kcompat.cluster.znodes import (
    config_path,
    delete_topic_path,
    partition_path,
    partition_state_path,
    topic_path,
)
from kcompat.controller.state import Decision, StopReplica, UpdateMetadata
from kcompat.controller.values import Outcome
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcompat.cluster.image import TopicImage
    from kcompat.cluster.store import Op
    from kcompat.controller.state import ControllerState, PartitionErrors

    Outcomes = Mapping[str, Outcome]


class DeleteTopics(Struct, frozen=True):
    """Delete topics by name."""

    names: Sequence[str]

    def decide(self, state: ControllerState) -> Decision[Outcomes]:
        """Mark the topics that exist and hide them; go on with `FinishDeletion`."""
        topics = {name: state.image.topics[name] for name in self.names if name in state.image.topics}
        outcomes = {
            name: Outcome() if name in topics else Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            for name in self.names
        }
        if not topics:
            return Decision(state, outcomes)
        has_configs = frozenset(name for name in topics if ("topics", name) in state.image.entity_configs)
        image = state.image.with_topics((), removed=topics.keys())
        return Decision(
            replace(state, image=image, deleting=state.deleting | topics.keys()),
            outcomes,
            [Create(delete_topic_path(name)) for name in topics],
            [UpdateMetadata(image), StopReplica(_partitions(topics.values()))],
            lambda failed: FinishDeletion(topics, has_configs, outcomes, failed),
        )

    def refused(self, error: ErrorCode) -> Outcomes:
        """The same error for every topic."""
        return {name: Outcome(error) for name in self.names}


class ResumeDeletion(Struct, frozen=True):
    """Go on with deletions that a crash interrupted; the topics are as the store still has them."""

    topics: Mapping[str, TopicImage]
    has_configs: frozenset[str]

    def decide(self, state: ControllerState) -> Decision[Outcomes]:
        """Stop what may be left of them."""
        outcomes = {name: Outcome() for name in self.topics}
        return Decision(
            state,
            outcomes,
            requests=[StopReplica(_partitions(self.topics.values()))],
            then=lambda failed: FinishDeletion(self.topics, self.has_configs, outcomes, failed),
        )

    def refused(self, error: ErrorCode) -> Outcomes:
        """The same error for every topic."""
        return {name: Outcome(error) for name in self.topics}


class FinishDeletion(Struct, frozen=True):
    """The brokers have answered: remove what the store has of the topics whose logs are gone."""

    topics: Mapping[str, TopicImage]
    has_configs: frozenset[str]
    outcomes: Outcomes
    failed: PartitionErrors

    def decide(self, state: ControllerState) -> Decision[Outcomes]:
        """Remove znodes, children first, and the marks last."""
        stuck = {topic for topic, _ in self.failed}
        gone = [topic for name, topic in self.topics.items() if name not in stuck]
        writes: list[Op] = []
        for topic in gone:
            writes.extend(self._removal(topic))
        outcomes = {
            name: Outcome(ErrorCode.REQUEST_TIMED_OUT) if name in stuck else outcome
            for name, outcome in self.outcomes.items()
        }
        return Decision(
            replace(state, deleting=state.deleting - {topic.name for topic in gone}), outcomes, writes
        )

    def refused(self, error: ErrorCode) -> Outcomes:
        """The topics stay marked."""
        return {name: Outcome(error) for name in self.outcomes}

    def _removal(self, topic: TopicImage) -> list[Op]:
        writes: list[Op] = []
        for index in range(len(topic.partitions)):
            writes.append(Delete(partition_state_path(topic.name, index)))
            writes.append(Delete(partition_path(topic.name, index)))
        writes.append(Delete(f"{topic_path(topic.name)}/partitions"))
        writes.append(Delete(topic_path(topic.name)))
        if topic.name in self.has_configs:
            writes.append(Delete(config_path("topics", topic.name)))
        writes.append(Delete(delete_topic_path(topic.name)))
        return writes


def _partitions(topics: Iterable[TopicImage]) -> list[tuple[str, int]]:
    return [(topic.name, index) for topic in topics for index in range(len(topic.partitions))]
