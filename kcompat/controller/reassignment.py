"""Reassignment of partitions to other replicas (KIP-455). Pure.

A reassignment starts by writing the target replicas, followed by those to remove, into the topic's znode.
When all target replicas are in sync, the others leave the ISR, a target replica leads, and the znode is
written last. So any controller can tell the progress from the znode.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.znodes import REASSIGN_PARTITIONS, encode_reassignments
from kcompat.controller import leader_elections
from kcompat.controller.draft import Draft
from kcompat.controller.offline_replicas import elect_offline
from kcompat.controller.state import ABSENT, Decision
from kcompat.controller.values import TopicOutcome, TopicRefusedError
from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Delete, SetData

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kcompat.controller.state import ControlledPartition, ControllerState
    from kcompat.topics import TopicPartition

    Wanted = Mapping[TopicPartition, tuple[int, ...] | None]


class Reassign(Struct, frozen=True):
    """Event: move partitions to these replicas; None cancels a reassignment. With `keeps_size` the number
    of replicas must stay the same (KIP-860).
    """

    wanted: Wanted
    keeps_size: bool = False

    def decide(self, state: ControllerState) -> Decision[dict[TopicPartition, TopicOutcome] | ErrorCode]:
        """Start, replace or cancel each reassignment; refused ones do not stop the others."""
        draft = Draft(state)
        outcomes = {}
        for (topic, index), replicas in self.wanted.items():
            try:
                planned = _planned(state, topic, index, replicas)
                if self.keeps_size and replicas is not None:
                    _insist_on_size(planned)
                _reassign(draft, topic, index, planned)
                outcomes[topic, index] = TopicOutcome()
            except TopicRefusedError as refusal:
                outcomes[topic, index] = TopicOutcome(refusal.error, refusal.message)
        taken = {key for key, outcome in outcomes.items() if not outcome.error}
        _forget_wanted(draft, taken)
        return draft.decision(outcomes)

    def refused(self, error: ErrorCode) -> dict[TopicPartition, TopicOutcome] | ErrorCode:
        """Return `error` as that of the whole request."""
        return error


class ListReassignments(Struct, frozen=True):
    """Query for the partitions under reassignment, among these or among all if None."""

    partitions: Sequence[TopicPartition] | None = None

    def decide(
        self, state: ControllerState
    ) -> Decision[Mapping[TopicPartition, ControlledPartition] | ErrorCode]:
        """Find the partitions that are being reassigned; the state stays as it is."""
        found: dict[TopicPartition, ControlledPartition] = {}
        for topic in state.topics.values():
            for index, partition in enumerate(topic.partitions):
                key = (topic.name, index)
                if partition.is_reassigned and (self.partitions is None or key in self.partitions):
                    found[key] = partition
        return Decision(state, found)

    def refused(self, error: ErrorCode) -> Mapping[TopicPartition, ControlledPartition] | ErrorCode:
        """Return `error` itself."""
        return error


class ReassignByTool(Struct, frozen=True):
    """The reassignments in `/admin/reassign_partitions`, where tools before KIP-455 write them."""

    wanted: Mapping[TopicPartition, tuple[int, ...]]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Start the reassignments not started yet; remove refused and complete ones from the znode."""
        draft = Draft(replace(state, wanted_by_tool=dict(self.wanted)))
        for (topic, index), replicas in self.wanted.items():
            if _is_wanted_already(state, topic, index, replicas):
                continue
            try:
                _reassign(draft, topic, index, _planned(state, topic, index, replicas))
            except TopicRefusedError:
                _forget_wanted(draft, [(topic, index)])
        done = [
            key
            for key in draft.state.wanted_by_tool
            if key[0] in draft.state.topics and not draft.partition(*key).is_reassigned
        ]
        _forget_wanted(draft, done)
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


class ReplicasCaughtUp(Struct, frozen=True):
    """Event: the ISRs of these partitions have grown."""

    partitions: Collection[TopicPartition]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Complete the reassignments whose target replicas are all in sync."""
        draft = Draft(state)
        resume_reassignments(draft, [key for key in self.partitions if key[0] in state.topics])
        return draft.decision(None)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


def resume_reassignments(draft: Draft, among: Iterable[TopicPartition] | None = None) -> None:
    """Complete the reassignments whose target replicas are in sync, `among` these partitions or among all.
    The others continue.
    """
    keys = [(topic, index) for topic, index, _ in draft.partitions()] if among is None else among
    for topic, index in keys:
        partition = draft.partition(topic, index)
        if partition.is_reassigned and _is_complete(draft.state, topic, index, partition):
            _reassign(draft, topic, index, partition)
            _forget_wanted(draft, [(topic, index)])


def _planned(
    state: ControllerState, topic: str, index: int, replicas: tuple[int, ...] | None
) -> ControlledPartition:
    """Return a partition with the replicas of the reassignment, or a `TopicRefusedError`."""
    known = state.topics.get(topic)
    partition = known.partitions[index] if known is not None and 0 <= index < len(known.partitions) else None
    if replicas is None:
        if partition is None or not partition.is_reassigned:
            raise TopicRefusedError(
                ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."
            )
        replicas = partition.origin
    else:
        _check(state, partition, replicas)
    if partition is None:
        raise TopicRefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    origin = partition.origin
    together = tuple(dict.fromkeys((*replicas, *origin)))
    if partition.isr and not set(partition.isr) & set(together):
        raise TopicRefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"None of the replicas in sync ({list(partition.isr)}) would be left.",
        )
    return replace(
        partition,
        replicas=together,
        adding=tuple(each for each in together if each not in origin),
        removing=tuple(each for each in together if each not in replicas),
    )


def _insist_on_size(planned: ControlledPartition) -> None:
    before, after = len(planned.origin), len(planned.target)
    if before != after:
        raise TopicRefusedError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {before} to {after}",
        )


def _is_wanted_already(state: ControllerState, topic: str, index: int, replicas: tuple[int, ...]) -> bool:
    """Return whether a partition has these replicas or is being moved to them."""
    known = state.topics.get(topic)
    if known is None or not 0 <= index < len(known.partitions):
        return False
    return known.partitions[index].target == replicas


def _check(state: ControllerState, partition: ControlledPartition | None, replicas: tuple[int, ...]) -> None:
    problem = None
    origin = () if partition is None else partition.origin
    adding = [each for each in replicas if each not in origin]
    if not replicas:
        problem = "Empty replica list specified in partition reassignment."
    elif len(set(replicas)) != len(replicas):
        problem = f"Duplicate replica ids in partition reassignment replica list: {list(replicas)}"
    elif min(replicas) < 0:
        problem = f"Invalid broker id in replica list: {list(replicas)}"
    elif not state.live_brokers.issuperset(adding):
        problem = (
            f"Replica assignment has brokers that are not alive. Replica list: {adding}, "
            f"live broker list: {sorted(state.live_brokers)}"
        )
    if problem is not None:
        raise TopicRefusedError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)


def _is_complete(state: ControllerState, topic: str, index: int, partition: ControlledPartition) -> bool:
    """Return whether all target replicas are in sync, and one of them can lead."""
    if not partition.is_reassigned or partition.partition_epoch == ABSENT:
        return True
    target = partition.target
    return set(target) <= set(partition.isr) and any(state.is_live(each, topic, index) for each in target)


def _reassign(draft: Draft, topic: str, index: int, planned: ControlledPartition) -> None:
    """Set the replicas of a partition under reassignment: all of them, or only the target replicas once the
    reassignment is complete.
    """
    state, before = draft.state, draft.partition(topic, index)
    after = planned
    if _is_complete(state, topic, index, planned):
        after = replace(planned, replicas=planned.target, adding=(), removing=())
    after = replace(after, isr=tuple(each for each in before.isr if each in after.replicas))
    if after.leader not in after.replicas or not state.is_live(after.leader, topic, index):
        result = leader_elections.of_reassigned(after, partial(state.is_live, topic=topic, index=index))
        stays = after.leader in after.replicas
        leader = result.leader if result is not None else after.leader if stays else NO_LEADER
        after = replace(after, leader=leader)
    draft.assign(topic, index, after)
    if after.partition_epoch == ABSENT:
        elect_offline(draft, [(topic, index)])
    else:
        draft.lead_anew(topic, index, after)
    leader_epoch = draft.partition(topic, index).leader_epoch
    for broker_id in {*before.replicas, *planned.replicas} - set(after.replicas):
        draft.stop(broker_id, topic, index, leader_epoch, delete=True)


def _forget_wanted(draft: Draft, keys: Collection[TopicPartition]) -> None:
    """Remove partitions from `/admin/reassign_partitions`, and the node with its last partition."""
    before = draft.state.wanted_by_tool
    if before.keys().isdisjoint(keys):
        return
    left = {key: replicas for key, replicas in before.items() if key not in keys}
    draft.state = replace(draft.state, wanted_by_tool=left)
    draft.last_writes[REASSIGN_PARTITIONS] = (
        SetData(REASSIGN_PARTITIONS, encode_reassignments(left)) if left else Delete(REASSIGN_PARTITIONS)
    )
