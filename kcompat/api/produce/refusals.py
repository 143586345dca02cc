"""Responses for batches that are not appended, and the current leader beside such an error (KIP-951)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from kcompat.api.cluster_view import current_leader, endpoints
from kcompat.api.produce.acceptance import FIRST_WITH_BATCHES
from kcompat.net.answers import CLOSE
from kcompat.protocol.errors import NO_ERROR, ErrorCode, error_of
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.records.batch import iter_headers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.api.context import RequestContext
    from kcompat.log.append import AppendResult
    from kcompat.net.answers import Close
    from kcompat.records.validate import BatchRefusal
    from kcompat.replication.partition import Partition

FIRST_WITH_RECORD_ERRORS = 8
FIRST_WITH_LEADER = 10
BEFORE_LOOKING = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
"""Refusals of a topic that must not reveal which of its partitions exist."""

WITHOUT_LOG_START = (
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
)
"""Errors of an append beside which Kafka's `appendToLocalLog` does not return the log start offset."""

TopicAnswer = ProduceResponse.TopicProduceResponse
PartitionAnswer = ProduceResponse.PartitionProduceResponse
PartitionData = ProduceRequest.PartitionProduceData


def refuse_request(request: ProduceRequest, error: ErrorCode) -> ProduceResponse:
    """Return the response that refuses every partition with the same error."""
    return ProduceResponse(
        [
            TopicAnswer(
                topic.name,
                topic.topic_id,
                [PartitionAnswer(data.index, error, -1) for data in topic.partition_data],
            )
            for topic in request.topic_data
        ]
    )


def refuse_unread(
    data: PartitionData, refusal: ErrorCode, partition: Partition | ErrorCode
) -> PartitionAnswer:
    """Return the response for a batch that is not read, with the error that Kafka checks first.

    `refusal` is the error of the topic, and `partition` an error if this broker does not lead the partition.
    """
    is_looked_at = refusal not in BEFORE_LOOKING
    if partition == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and is_looked_at:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif refusal:
        error = refusal
    else:
        error = partition if isinstance(partition, ErrorCode) else ErrorCode.INVALID_RECORD
    return PartitionAnswer(data.index, error, -1)


def refuse_batch(
    index: int, refusal: BatchRefusal | None, log_start_offset: int, api_version: int
) -> PartitionAnswer:
    """Return the response for a batch that fails its checks. `refusal` is None for an empty old message set,
    which is no error.
    """
    answer = PartitionAnswer(index, NO_ERROR, -1)
    if refusal is not None:
        answer.error_code = refusal.error
        answer.error_message = refusal.message
        if refusal.is_by_log and refusal.error not in WITHOUT_LOG_START:
            answer.log_start_offset = log_start_offset
        if api_version >= FIRST_WITH_RECORD_ERRORS:
            answer.record_errors = [
                ProduceResponse.BatchIndexAndErrorMessage(at, message)
                for at, message in refusal.record_errors
            ]
    return answer


def refuse_append(partition: Partition, index: int, result: AppendResult | ErrorCode) -> PartitionAnswer:
    """Return the response for a batch that its partition did not append, and count the refusal."""
    if isinstance(result, ErrorCode):
        partition.statistics.note_refusal(result)
        refused = PartitionAnswer(index, result, -1)
        if result == ErrorCode.NOT_ENOUGH_REPLICAS:
            refused.log_start_offset = partition.log.log_start_offset
        return refused
    partition.statistics.note_refusal(result.error)
    refused = PartitionAnswer(index, result.error, -1)
    if result.error not in WITHOUT_LOG_START:
        refused.log_start_offset = result.log_start_offset
    return refused


def note_refusal(context: RequestContext, topic: str, data: PartitionData, answer: PartitionAnswer) -> None:
    """Have later batches of the producer's sequence refused with the same error, should this broker become
    the partition's leader before they arrive.
    """
    batch = data.records
    if isinstance(batch, memoryview) and context.api_version >= FIRST_WITH_BATCHES:
        for _, header in islice(iter_headers(batch), 1):
            error = error_of(answer.error_code)
            context.services.storage.replicas.note_refusal(topic, data.index, header, error)


def add_current_leader(
    context: RequestContext, topic: str, answer: PartitionAnswer, leaders: list[int]
) -> None:
    """Add the partition's leader to `leaders` and to a response with NOT_LEADER_OR_FOLLOWER."""
    if answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and context.api_version >= FIRST_WITH_LEADER:
        leader, epoch = current_leader(context, topic, answer.index)
        answer.current_leader = PartitionAnswer.LeaderIdAndEpoch(leader, epoch)
        leaders.append(leader)


def add_endpoints(context: RequestContext, response: ProduceResponse, leaders: Iterable[int]) -> None:
    """Add the addresses of the brokers `leaders` to a response."""
    response.node_endpoints = [ProduceResponse.NodeEndpoint(*each) for each in endpoints(context, leaders)]


def close_if_failed(response: ProduceResponse) -> Close | None:
    """Return CLOSE if a batch failed: the closed connection is the error signal for a client with acks=0."""
    failed = any(row.error_code for topic in response.responses for row in topic.partition_responses)
    return CLOSE if failed else None
