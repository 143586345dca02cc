"""AlterPartition (key 56), versions 0-3 (KIP-497): a leader proposes another ISR to the controller.

Behaviour
- Only brokers may send the request, and only the controller decides; other brokers answer NOT_CONTROLLER.
- A broker that is not registered, or has registered again since, gets STALE_BROKER_EPOCH.
- Each partition is decided by itself. An ISR that is in force already is accepted again. An older leader
  epoch gets FENCED_LEADER_EPOCH, an older partition epoch INVALID_UPDATE_VERSION, and newer epochs get
  NOT_CONTROLLER.
- A broker that is not live or is shutting down cannot join an ISR. Neither can a broker that has restarted
  since the broker epoch in the request (KIP-903).

Version notes
- 1: the recovery state (KIP-704). 2: topics by id, and INELIGIBLE_REPLICA, for which older versions get
  OPERATION_NOT_ATTEMPTED (KIP-841). 3: the broker epochs of the ISR members (KIP-903).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.controller.isr_changes import UNKNOWN_BROKER_EPOCH, AlterPartition, ProposedIsr
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.controller.isr_changes import IsrAnswer, IsrAnswers
    from kcompat.promise import Promise

FIRST_WITH_TOPIC_IDS = 2
FIRST_WITH_BROKER_EPOCHS = 3

TopicAnswer = AlterPartitionResponse.TopicData
Answer = AlterPartitionResponse.PartitionData


def handle(
    context: RequestContext, request: AlterPartitionRequest
) -> AlterPartitionResponse | Promise[AlterPartitionResponse]:
    """Have the controller in this process decide on the proposed ISRs."""
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        return AlterPartitionResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    version = context.api_version
    return context.services.cluster.decisions.alter_partition(event_of(request, version)).map(response_of)


def event_of(request: AlterPartitionRequest, version: int) -> AlterPartition:
    """Return the controller's event for a request of this version."""
    proposals = [
        ProposedIsr(
            topic.topic_name if version < FIRST_WITH_TOPIC_IDS else topic.topic_id,
            row.partition_index,
            row.leader_epoch,
            row.partition_epoch,
            _isr(row, version),
            row.leader_recovery_state,
        )
        for topic in request.topics
        for row in topic.partitions
    ]
    return AlterPartition(
        request.broker_id, request.broker_epoch, proposals, knows_ineligible=version >= FIRST_WITH_TOPIC_IDS
    )


def response_of(answers: IsrAnswers) -> AlterPartitionResponse:
    """Return the response with the controller's decision on each partition."""
    topics: dict[str | bytes, TopicAnswer] = {}
    for row in answers.rows:
        if row.topic not in topics:
            if isinstance(row.topic, str):
                topics[row.topic] = TopicAnswer(topic_name=row.topic)
            else:
                topics[row.topic] = TopicAnswer(topic_id=row.topic)
        topics[row.topic].partitions.append(_answer(row))
    return AlterPartitionResponse(error_code=answers.error, topics=list(topics.values()))


def _isr(row: AlterPartitionRequest.PartitionData, version: int) -> tuple[tuple[int, int], ...]:
    if version < FIRST_WITH_BROKER_EPOCHS:
        return tuple((broker_id, UNKNOWN_BROKER_EPOCH) for broker_id in row.new_isr)
    return tuple((member.broker_id, member.broker_epoch) for member in row.new_isr_with_epochs)


def _answer(row: IsrAnswer) -> Answer:
    partition = row.partition
    if partition is None:
        return Answer(partition_index=row.index, error_code=row.error)
    return Answer(
        partition_index=row.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )
