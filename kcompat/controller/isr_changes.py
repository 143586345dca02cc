"""ISRs that leaders propose (AlterPartition, KIP-497). Pure.

The leader epoch stays, since the replicas need no request; the partition epoch grows. A proposal that is in
force already is accepted again: its answer may have been lost. A leader that proposes another ISR from an
older partition epoch gets the state in force, in a new leader epoch. Kafka would leave that leader waiting
until something else happens to the partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.controller.draft import Draft
from kcompat.controller.reassignment import ReplicasCaughtUp
from kcompat.controller.state import RECOVERED, RECOVERING, Decision
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.controller.state import ControlledPartition, ControllerState

UNKNOWN_BROKER_EPOCH = -1


class ProposedIsr(Struct, frozen=True, gc=False):
    """The ISR that a leader proposes for a partition: (broker id, broker epoch or -1) of its members."""

    topic: str | bytes
    """The name of the topic or, as bytes, its id."""
    index: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    leader_recovery_state: int = RECOVERED


class IsrAnswer(Struct, frozen=True, gc=False):
    """The answer to a proposed ISR: the partition after the change, or the error that refused it."""

    topic: str | bytes
    index: int
    error: ErrorCode = ErrorCode.NONE
    partition: ControlledPartition | None = None


class IsrAnswers(Struct, frozen=True):
    """One answer for each proposal, or the error of them all."""

    error: ErrorCode = ErrorCode.NONE
    rows: Sequence[IsrAnswer] = ()


class AlterPartition(Struct, frozen=True):
    """Proposals of one broker for partitions that it leads. If it does not know the error INELIGIBLE_REPLICA
    (`knows_ineligible`, KIP-841), it gets OPERATION_NOT_ATTEMPTED instead.
    """

    broker_id: int
    broker_epoch: int
    proposals: Sequence[ProposedIsr]
    knows_ineligible: bool = True

    def decide(self, state: ControllerState) -> Decision[IsrAnswers]:
        """Accept each proposal of the leader in its current epoch whose members are live and not shutting
        down.
        """
        broker = state.brokers.get(self.broker_id)
        if broker is None or broker.epoch != self.broker_epoch:
            return Decision(state, IsrAnswers(ErrorCode.STALE_BROKER_EPOCH))
        draft = Draft(state)
        names = {topic.topic_id: topic.name for topic in state.topics.values()}
        answers, caught_up = [], []
        for proposal in self.proposals:
            topic = proposal.topic if isinstance(proposal.topic, str) else names.get(proposal.topic)
            if topic is None:
                answers.append(IsrAnswer(proposal.topic, proposal.index, ErrorCode.UNKNOWN_TOPIC_ID))
                continue
            error = self._judge(draft, topic, proposal)
            partition = None if error else self._accept(draft, topic, proposal)
            if error is ErrorCode.INVALID_UPDATE_VERSION:
                self._enlighten(draft, topic, proposal.index)
            if partition is not None and partition.is_reassigned:
                caught_up.append((topic, proposal.index))
            answers.append(IsrAnswer(proposal.topic, proposal.index, error, partition))
        decision = draft.decision(IsrAnswers(rows=answers))
        return replace(decision, next=ReplicasCaughtUp(caught_up)) if caught_up else decision

    def refused(self, error: ErrorCode) -> IsrAnswers:
        """Return `error` for all proposals."""
        return IsrAnswers(error)

    def _judge(self, draft: Draft, topic: str, proposal: ProposedIsr) -> ErrorCode:
        """Return the error of a proposal, checked in Kafka's order, or None."""
        state = draft.state
        known = state.topics.get(topic)
        if known is None or not 0 <= proposal.index < len(known.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        current = draft.partition(topic, proposal.index)
        if proposal.leader_epoch > current.leader_epoch or proposal.partition_epoch > current.partition_epoch:
            return (
                ErrorCode.NOT_CONTROLLER
            )  # the broker knows a newer epoch, so another broker is the controller by now
        if proposal.leader_epoch < current.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if _is_in_force(current, self.broker_id, proposal):
            return ErrorCode.NONE
        if proposal.partition_epoch < current.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        members = {broker_id for broker_id, _ in proposal.isr}
        is_odd = self.broker_id != current.leader or current.leader not in members
        if is_odd or not members <= set(current.replicas):
            return ErrorCode.INVALID_REQUEST
        if proposal.leader_recovery_state == RECOVERING and (
            len(members) > 1 or current.leader_recovery_state == RECOVERED
        ):
            return ErrorCode.INVALID_REQUEST
        if not all(self._is_eligible(state, topic, proposal.index, *member) for member in proposal.isr):
            eligibility = ErrorCode.INELIGIBLE_REPLICA
            return eligibility if self.knows_ineligible else ErrorCode.OPERATION_NOT_ATTEMPTED
        return ErrorCode.NONE

    @staticmethod
    def _is_eligible(state: ControllerState, topic: str, index: int, broker_id: int, epoch: int) -> bool:
        """Return whether a replica may join the ISR. A broker that has restarted since is not the process
        that caught up (KIP-903).
        """
        return state.is_live(broker_id, topic, index) and epoch in (
            UNKNOWN_BROKER_EPOCH,
            state.brokers[broker_id].epoch,
        )

    def _enlighten(self, draft: Draft, topic: str, index: int) -> None:
        """Send the current role again, in a higher leader epoch, to a leader that has missed a change.

        Otherwise the leader would never learn the current state, and its ISR could never change again.
        """
        current = draft.partition(topic, index)
        if current.leader == self.broker_id:
            draft.lead_anew(topic, index, current)

    def _accept(self, draft: Draft, topic: str, proposal: ProposedIsr) -> ControlledPartition:
        current = draft.partition(topic, proposal.index)
        if not _is_in_force(current, self.broker_id, proposal):
            isr = tuple(broker_id for broker_id, _ in proposal.isr)
            changed = replace(current, isr=isr, leader_recovery_state=proposal.leader_recovery_state)
            draft.alter(topic, proposal.index, changed)
        return draft.partition(topic, proposal.index)


def _is_in_force(current: ControlledPartition, broker_id: int, proposal: ProposedIsr) -> bool:
    return (
        broker_id == current.leader
        and proposal.leader_epoch == current.leader_epoch
        and {member for member, _ in proposal.isr} == set(current.isr)
        and proposal.leader_recovery_state == current.leader_recovery_state
    )
