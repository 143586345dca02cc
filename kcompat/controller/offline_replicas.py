"""Replicas that go offline and partitions without a leader: Kafka's state machines, as steps of a draft.
Pure.

A partition is online while its leader is live; otherwise a leader is elected as soon as a replica may lead. A
replica that goes offline leaves the ISR, except the last one, which stays in it. `ReplicasFailed`: a broker
could not take replicas, or lost them to an offline log directory.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.controller import leader_elections
from kcompat.controller.draft import Draft
from kcompat.controller.state import ABSENT, Decision
from kcompat.protocol.constants import NO_LEADER

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from kcompat.controller.state import ControllerState
    from kcompat.protocol.errors import ErrorCode
    from kcompat.topics import TopicPartition

    Replica = tuple[int, str, int]


def elect_offline(draft: Draft, among: Iterable[TopicPartition] | None = None) -> None:
    """Elect leaders of the partitions without a live leader, `among` these or among all."""
    state = draft.state
    keys = draft.partitions() if among is None else ((*key, draft.partition(*key)) for key in among)
    for topic, index, partition in keys:
        leads = partition.leader != NO_LEADER and (topic, index) not in state.deposed
        if leads and state.is_live(partition.leader, topic, index):
            continue
        is_live = partial(state.is_live, topic=topic, index=index)
        if partition.partition_epoch == ABSENT:
            result = leader_elections.of_new(partition, is_live)
        else:
            result = leader_elections.of_offline(partition, is_live, unclean=state.may_elect_uncleanly(topic))
        if result is not None:
            draft.elect(topic, index, result)


def take_offline(draft: Draft, replicas: Iterable[Replica]) -> None:
    """Stop these replicas if their brokers are live, and remove them from their ISRs."""
    for broker_id, topic, index in replicas:
        partition = draft.partition(topic, index)
        draft.stop(broker_id, topic, index, partition.leader_epoch, delete=False)
        leader = NO_LEADER if partition.leader == broker_id else partition.leader
        isr = tuple(each for each in partition.isr if each != broker_id) or partition.isr
        if (leader, isr) == (partition.leader, partition.isr):
            draft.propagate(topic, index)
        else:
            others = [each for each in partition.replicas if each != broker_id]
            draft.lead_anew(topic, index, replace(partition, leader=leader, isr=isr), others)


class ReplicasFailed(Struct, frozen=True):
    """Partitions for which a broker has no working log."""

    broker_id: int
    partitions: AbstractSet[tuple[str, int]]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Elect other leaders, and shrink the ISRs."""
        failed = [
            (self.broker_id, topic, index)
            for topic, index in sorted(self.partitions)
            if _has_replica(state, topic, index, self.broker_id)
        ]
        new = [replica for replica in failed if replica not in state.failed]
        if not new:
            return Decision(state, None)
        draft = Draft(replace(state, failed=state.failed | frozenset(new)))
        elect_offline(draft, [(topic, index) for _, topic, index in new])
        take_offline(draft, new)
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


def _has_replica(state: ControllerState, topic: str, index: int, broker_id: int) -> bool:
    known = state.topics.get(topic)
    if known is None or index >= len(known.partitions):
        return False
    return broker_id in known.partitions[index].replicas
