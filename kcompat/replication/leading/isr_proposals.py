"""Proposals of ISRs from this broker's leaders to the controller (Kafka's `AlterPartitionManager`, KIP-497).

One AlterPartition is pending at a time, with the latest proposals of all partitions. A proposal has no
deadline: it is sent again until the current controller answers, or until another role of the partition makes
it obsolete.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from kcompat.logger_names import PARTITION
from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import error_of
from kcompat.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kcompat.replication.isr import PendingShrink

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock, Timer
    from kcompat.promise import Promise
    from kcompat.replication.isr import IsrOwner, Pending
    from kcompat.topics import TopicPartition

logger = logging.getLogger(PARTITION)

RETRY_MS: Final = 50
"""Milliseconds between a failed AlterPartition and the next one."""

RECOVERED: Final = 0

TopicData = AlterPartitionRequest.TopicData
Row = AlterPartitionRequest.PartitionData
Answer = AlterPartitionResponse.PartitionData


class ControllerPort(Protocol):
    """Port to the current controller, in this process or another."""

    def propose(self, request: AlterPartitionRequest) -> Promise[AlterPartitionResponse]:
        """Send the request to the controller; the promise may fail if the controller cannot be reached."""


class _Proposal(Struct, frozen=True, eq=False):
    owner: IsrOwner
    pending: Pending
    leader_epoch: int
    partition_epoch: int


class IsrProposals:
    """The pending proposals of the partitions of one broker, and their outcomes."""

    def __init__(
        self, broker_id: int, broker_epoch: Callable[[], int], controller: ControllerPort, clock: Clock
    ) -> None:
        """Make an empty set of proposals; `broker_epoch` returns the epoch of this broker's current
        registration.
        """
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._controller = controller
        self._clock = clock
        self.shrinks = 0
        """Number of smaller ISRs that the controller has accepted."""
        self.expands = 0
        """Number of larger ISRs that the controller has accepted."""
        self.failures = 0
        """Number of proposed ISRs that the controller has refused."""
        self._waiting: dict[TopicPartition, _Proposal] = {}
        self._is_busy = False
        """Whether a request is pending, or a timer will send the next one."""
        self._timer: Timer | None = None
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, owner: IsrOwner, pending: Pending) -> None:
        """Propose `pending.proposed`, in place of any earlier proposal of the partition."""
        role = owner.role
        self._waiting[owner.topic, owner.index] = _Proposal(
            owner, pending, role.leader_epoch, role.partition_epoch
        )
        if not self._is_busy:
            self._is_busy = True
            self._later(0)  # after the event, to include all its proposals

    def close(self) -> None:
        """Drop all proposals, and send no more."""
        self._is_closed = True
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _later(self, delay_ms: int) -> None:
        if not self._is_closed:
            self._timer = self._clock.call_later(delay_ms, self._send)

    def _send(self) -> None:
        sent = dict(self._waiting)
        if not sent:
            self._is_busy = False
            return
        promise = self._controller.propose(self._request(sent))
        promise.then(lambda response: self._answered(sent, response), lambda fault: self._failed(fault))

    def _request(self, sent: dict[TopicPartition, _Proposal]) -> AlterPartitionRequest:
        """Return an AlterPartition request with topic names and ids and both forms of an ISR, to suit every
        version.
        """
        topics: dict[str, TopicData] = {}
        for (topic, index), proposal in sent.items():
            if topic not in topics:
                topics[topic] = TopicData(topic, proposal.owner.topic_id)
            members = [self._member(proposal.pending, member) for member in proposal.pending.proposed]
            topics[topic].partitions.append(
                Row(
                    partition_index=index,
                    leader_epoch=proposal.leader_epoch,
                    new_isr=[member.broker_id for member in members],
                    new_isr_with_epochs=members,
                    leader_recovery_state=RECOVERED,
                    partition_epoch=proposal.partition_epoch,
                )
            )
        return AlterPartitionRequest(self._broker_id, self._broker_epoch(), list(topics.values()))

    def _member(self, pending: Pending, member: int) -> AlterPartitionRequest.BrokerState:
        is_me = member == self._broker_id
        epoch = self._broker_epoch() if is_me else pending.registrations.get(member, NO_EPOCH)
        return AlterPartitionRequest.BrokerState(member, epoch)

    def _failed(self, fault: Exception) -> None:
        logger.info("%d proposed ISRs did not reach the controller: %s", len(self._waiting), fault)
        self._later(RETRY_MS)

    def _answered(self, sent: dict[TopicPartition, _Proposal], response: AlterPartitionResponse) -> None:
        if response.error_code:
            logger.info("The controller refused the proposed ISRs: %s", error_of(response.error_code).name)
            self._later(RETRY_MS)
            return
        names = {proposal.owner.topic_id: topic for (topic, _), proposal in sent.items()}
        for topic in response.topics:
            name = topic.topic_name or names.get(topic.topic_id, "")
            for answer in topic.partitions:
                key = (name, answer.partition_index)
                if key in sent:
                    self._settle(key, sent[key], answer)
        is_undecided = any(self._waiting.get(key) is proposal for key, proposal in sent.items())
        self._later(RETRY_MS if is_undecided else 0)

    def _settle(self, key: TopicPartition, proposal: _Proposal, answer: Answer) -> None:
        """Report the outcome of a proposal to its partition. A proposal that has to be repeated is kept."""
        owner, pending = proposal.owner, proposal.pending
        if answer.error_code:
            self.failures += 1
        elif isinstance(pending, PendingShrink):
            self.shrinks += 1
        else:
            self.expands += 1
        if answer.error_code and owner.isr_refused(pending, error_of(answer.error_code)):
            return
        if self._waiting.get(key) is proposal:
            del self._waiting[key]
        if not answer.error_code:
            isr, epoch = list(answer.isr), answer.partition_epoch
            logger.info("%s-%d: ISR updated to %s and version updated to %d", *key, isr, epoch)
            owner.isr_accepted(pending, answer.leader_epoch, answer.partition_epoch, tuple(answer.isr))
