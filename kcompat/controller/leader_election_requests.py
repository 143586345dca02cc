"""Elections of partition leaders on request (ElectLeaders), and preferred leader rebalance. Pure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.controller import leader_elections
from kcompat.controller.draft import Draft
from kcompat.controller.values import ElectionType, TopicOutcome
from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.controller.state import ControlledPartition, ControllerState, Decision
    from kcompat.topics import TopicPartition

    Outcomes = Mapping[TopicPartition, TopicOutcome]


class ElectLeaders(Struct, frozen=True):
    """Event: elect preferred leaders, or any live replica of partitions without a leader (KIP-460)."""

    kind: ElectionType
    partitions: Sequence[TopicPartition] | None
    """Partitions by topic and index; None for all."""

    def decide(self, state: ControllerState) -> Decision[Outcomes]:
        """Elect leaders of the partitions that need one and have an eligible replica."""
        draft = Draft(state)
        partitions = self.partitions
        if partitions is None:
            partitions = [(topic, index) for topic, index, _ in draft.partitions()]
        return draft.decision({key: _elect(draft, self.kind, *key) for key in partitions})

    def refused(self, error: ErrorCode) -> Outcomes:
        """Return `error` for every partition of the request."""
        return dict.fromkeys(self.partitions or (), TopicOutcome(error))


class ElectPreferred(Struct, frozen=True):
    """Preferred leader elections of these partitions, requested by an old tool through the store."""

    partitions: Sequence[TopicPartition]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Elect the preferred replicas that can lead."""
        draft = Draft(state)
        for key in self.partitions:
            _elect(draft, ElectionType.PREFERRED, *key)
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


class BalanceLeaders(Struct, frozen=True):
    """Preferred leader rebalance for brokers that lead too few of the partitions they are preferred for.
    `tolerated` is the percentage of those partitions that other brokers may lead.
    """

    tolerated: int

    def decide(self, state: ControllerState) -> Decision[None]:
        """Elect the preferred replicas of those brokers if they can lead, except in partitions under
        reassignment.
        """
        preferred: dict[int, int] = {}
        elsewhere: dict[int, list[TopicPartition]] = {}
        draft = Draft(state)
        for topic, index, partition in draft.partitions():
            broker_id = partition.replicas[0]
            preferred[broker_id] = preferred.get(broker_id, 0) + 1
            if partition.leader != broker_id:
                elsewhere.setdefault(broker_id, []).append((topic, index))
        for broker_id, keys in elsewhere.items():
            if len(keys) * 100 <= self.tolerated * preferred[broker_id]:
                continue
            for key in keys:
                if not draft.partition(*key).is_reassigned:
                    _elect(draft, ElectionType.PREFERRED, *key)
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


def _elect(draft: Draft, kind: ElectionType, topic: str, index: int) -> TopicOutcome:
    state = draft.state
    if topic in state.deleting:
        return TopicOutcome(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
    known = state.topics.get(topic)
    if known is None or not 0 <= index < len(known.partitions):
        return TopicOutcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    partition = draft.partition(topic, index)
    if _is_led(state, kind, partition):
        return TopicOutcome(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
    is_live = partial(state.is_live, topic=topic, index=index)
    if kind is ElectionType.PREFERRED:
        result = leader_elections.of_preferred(partition, is_live)
        strategy = "PreferredReplicaPartitionLeaderElectionStrategy"
        error = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    else:
        result = leader_elections.of_offline(partition, is_live, unclean=True)
        strategy = "OfflinePartitionLeaderElectionStrategy(true)"
        error = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    if result is None:
        message = f"Failed to elect leader for partition {topic}-{index} under strategy {strategy}"
        return TopicOutcome(error, message)
    draft.elect(topic, index, result)
    return TopicOutcome()


def _is_led(state: ControllerState, kind: ElectionType, partition: ControlledPartition) -> bool:
    """Return whether the partition needs no election of this kind."""
    if kind is ElectionType.PREFERRED:
        return partition.leader == partition.replicas[0]
    return partition.leader != NO_LEADER and partition.leader in state.live_brokers
