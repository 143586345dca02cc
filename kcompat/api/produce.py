"""Produce (key 0), versions 0-13.

Behaviour
- Each partition stands alone: one refused batch does not touch the others. A partition named twice is
  written and answered once, with its last batch.
- acks=0 has no answer; a failure then closes the connection, the only signal Kafka gives.
- acks=1 is answered after the local append, acks=all once the high watermark has passed it or the request's
  timeout; both not before the sync that the append waits for (`flush.messages`).
- Clients may not write internal topics, except the one Kafka itself trusts (`__admin_client`).

Version notes
- 0, 1: messages of magic 0, 2: of magic 1, stored as one batch v2. Nothing whole is stored without an error.
- 3: exactly one batch v2. 8: per-record errors and an error message (KIP-467).
- 10: the current leader beside NOT_LEADER_OR_FOLLOWER (KIP-951).
- 13: topics by id (KIP-516).

Not here yet: transactional batches are refused with INVALID_TXN_STATE, as by a broker whose coordinator does
not know the transaction, and with TRANSACTIONAL_ID_AUTHORIZATION_FAILED where the request names no
transactional id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.log import AppendResult
from kcompat.net.answers import CLOSE, Close
from kcompat.protocol.errors import NO_ERROR, ErrorCode
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.records.batch import TRANSACTIONAL_FLAG
from kcompat.records.recompress import conform
from kcompat.records.up_convert import accept_old
from kcompat.records.validate import Refusal, check_produced
from kcompat.replication.delayed_produce import DelayedProduce
from kcompat.replication.partition import Partition
from kcompat.topics import is_internal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.api.context import RequestContext
    from kcompat.log.config import LogConfig
    from kcompat.promise import Promise
    from kcompat.records.batch import BatchHeader
    from kcompat.replication.partition import Role

ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1
FIRST_WITH_BATCHES = 3
FIRST_WITH_RECORD_ERRORS = 8
FIRST_WITH_LEADER = 10
FIRST_WITH_IDS = 13
TRUSTED_CLIENT_ID = "__admin_client"

TopicAnswer = ProduceResponse.TopicProduceResponse
PartitionAnswer = ProduceResponse.PartitionProduceResponse
PartitionData = ProduceRequest.PartitionProduceData


def handle(
    context: RequestContext, request: ProduceRequest
) -> ProduceResponse | Promise[ProduceResponse] | Close | None:
    """Append every batch, then answer as `acks` asks."""
    acks = request.acks
    answers: list[TopicAnswer] = []
    waiting: dict[Partition, tuple[int, PartitionAnswer]] = {}
    failed = False
    for topic in request.topic_data:
        name: str | None = topic.name
        if context.api_version >= FIRST_WITH_IDS:
            name = context.services.cluster.image.topic_names.get(topic.topic_id)
        refused = _refuse_topic(context, name, acks)
        partitions: list[PartitionAnswer] = []
        for data in _once(topic.partition_data):
            if refused:
                answer = PartitionAnswer(data.index, refused, -1)
            else:
                assert name is not None
                answer = _append(context, request, name, data, waiting)
            partitions.append(answer)
            if answer.error_code:
                failed = True
        answers.append(TopicAnswer(topic.name, topic.topic_id, partitions))
    response = ProduceResponse(answers)
    if acks == ACKS_NONE:
        return CLOSE if failed else None
    if waiting:
        return _answer_later(context, request, response, waiting)
    return response


def _once(rows: list[PartitionData]) -> Iterable[PartitionData]:
    """Each partition once, with the batch that came last."""
    return rows if len(rows) == 1 else {row.index: row for row in rows}.values()


def _refuse_topic(context: RequestContext, name: str | None, acks: int) -> ErrorCode:
    """What is wrong with a whole topic, before any of its partitions is looked at."""
    if acks not in (ACKS_NONE, ACKS_LEADER, ACKS_ALL):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if is_internal(name) and context.client_id != TRUSTED_CLIENT_ID:
        exists = name in context.services.cluster.image.topics
        return ErrorCode.INVALID_TOPIC_EXCEPTION if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return NO_ERROR


def _append(
    context: RequestContext,
    request: ProduceRequest,
    name: str,
    data: PartitionData,
    waiting: dict[Partition, tuple[int, PartitionAnswer]],
) -> PartitionAnswer:
    """Check and append one partition's batch; notes it in `waiting` if `acks` is not satisfied yet."""
    index = data.index
    partition = context.services.replicas.get(name, index)
    if partition is None:
        return PartitionAnswer(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    batch = data.records
    if batch is None:
        return PartitionAnswer(index, ErrorCode.INVALID_RECORD, -1)
    assert isinstance(batch, memoryview)  # what the decoder gives
    log = partition.log
    stored = _accept(batch, context, log.config)
    if not isinstance(stored, tuple):
        return _refuse_batch(index, stored, log.log_start_offset, context.api_version)
    if stored[1].attributes & TRANSACTIONAL_FLAG:
        nobody = request.transactional_id is None
        error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if nobody else ErrorCode.INVALID_TXN_STATE
        return PartitionAnswer(index, error, -1)
    result = partition.append(*stored, request.acks, context.now_ms)
    if not isinstance(result, AppendResult):  # the likely one is asked for: an enumeration takes longer
        return _refuse_append(index, result, partition.role, context.api_version)
    if result.error:
        return PartitionAnswer(index, result.error, -1, log_start_offset=result.log_start_offset)
    answer = PartitionAnswer(
        index, NO_ERROR, result.base_offset, result.append_time_ms, result.log_start_offset
    )
    end = result.last_offset + 1
    if partition.high_watermark < end and _done_for(request.acks)(partition, end) is None:
        waiting[partition] = (end, answer)
    return answer


def _done_for(acks: int) -> Callable[[Partition, int], ErrorCode | None]:
    """What says whether a partition is as far as `acks` asks."""
    return Partition.committed if acks == ACKS_ALL else Partition.stored


def _accept(
    batch: memoryview, context: RequestContext, config: LogConfig
) -> tuple[memoryview, BatchHeader] | Refusal | None:
    """What to store, why nothing, or None where an old client sent nothing whole."""
    if context.api_version < FIRST_WITH_BATCHES:
        return accept_old(batch, config, config.compression_type, context.now_ms)
    header = check_produced(batch, context.api_version, config, context.now_ms)
    if isinstance(header, Refusal):
        return header
    return conform(batch, header, config.compression_type, config.max_message_bytes)


def _refuse_batch(
    index: int, refusal: Refusal | None, log_start_offset: int, api_version: int
) -> PartitionAnswer:
    answer = PartitionAnswer(index, NO_ERROR, -1)
    if refusal is not None:
        answer.error_code = refusal.error
        answer.error_message = refusal.message
        answer.log_start_offset = log_start_offset
        if api_version >= FIRST_WITH_RECORD_ERRORS:
            answer.record_errors = [
                ProduceResponse.BatchIndexAndErrorMessage(at, message)
                for at, message in refusal.record_errors
            ]
    return answer


def _refuse_append(index: int, error: ErrorCode, role: Role, api_version: int) -> PartitionAnswer:
    answer = PartitionAnswer(index, error, -1)
    if error == ErrorCode.NOT_LEADER_OR_FOLLOWER and api_version >= FIRST_WITH_LEADER:
        answer.current_leader = PartitionAnswer.LeaderIdAndEpoch(role.leader, role.leader_epoch)
    return answer


def _answer_later(
    context: RequestContext,
    request: ProduceRequest,
    response: ProduceResponse,
    waiting: dict[Partition, tuple[int, PartitionAnswer]],
) -> Promise[ProduceResponse]:
    """Hold the response until each partition is as far as `acks` asks; only acks=all has a timeout."""

    def settle(partition: Partition, error: ErrorCode) -> None:
        answer = waiting[partition][1]
        if error:
            answer.error_code = error
            answer.base_offset = -1

    required = {partition: offset for partition, (offset, _) in waiting.items()}
    operation = DelayedProduce(required, settle, response, _done_for(request.acks))
    timeout_ms = request.timeout_ms if request.acks == ACKS_ALL else None
    return context.services.replicas.produces.wait(operation, tuple(waiting), timeout_ms).promise
