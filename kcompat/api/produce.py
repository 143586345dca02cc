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

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from kcompat.api.acceptance import (
    INLINE,
    INLINE_PACKED,
    SPENT,
    Acceptance,
    accept,
    accept_plain,
    accept_within,
    is_codec_work,
    leave_frame,
)
from kcompat.api.context import Busy
from kcompat.log.log import AppendResult
from kcompat.net.answers import CLOSE, Close
from kcompat.net.placing import WORTH_PLACING
from kcompat.promise import Promise
from kcompat.protocol.errors import NO_ERROR, ErrorCode
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.records.allowance import Allowance
from kcompat.records.layout import TRANSACTIONAL_FLAG
from kcompat.replication.delayed_produce import DelayedProduce
from kcompat.replication.partition import Partition
from kcompat.topics import is_internal

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.api.acceptance import Accepted, Stored
    from kcompat.api.context import RequestContext
    from kcompat.cluster.news import Role
    from kcompat.log.config import LogConfig
    from kcompat.records.validate import Refusal

ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1
FIRST_WITH_RECORD_ERRORS = 8
FIRST_WITH_LEADER = 10
FIRST_WITH_IDS = 13
TRUSTED_CLIENT_ID = "__admin_client"

TopicAnswer = ProduceResponse.TopicProduceResponse
PartitionAnswer = ProduceResponse.PartitionProduceResponse
TopicData = ProduceRequest.TopicProduceData
PartitionData = ProduceRequest.PartitionProduceData

AtOnce: TypeAlias = "ProduceResponse | Promise[ProduceResponse] | Close | None"


def handle(
    context: RequestContext, request: ProduceRequest
) -> ProduceResponse | Promise[ProduceResponse] | Busy[ProduceResponse] | Close | None:
    """Append every batch, then answer as `acks` asks."""
    appends = _Appends(context, request, [], [], {})
    answer = appends.go_on(None)
    return appends.go_on_later(answer) if isinstance(answer, Acceptance) else answer


class _Appends(Struct, gc=False):
    """The batches of one request on their way into the logs."""

    context: RequestContext
    request: ProduceRequest
    answers: list[TopicAnswer]
    partitions: list[PartitionAnswer]
    """Those of the topic whose turn it is."""
    waiting: dict[Partition, tuple[int, PartitionAnswer]]
    allowance: Allowance | None = None

    def go_on(self, accepted: Accepted | None) -> AtOnce | Acceptance:
        """Append the batches that are left, up to one that takes longer; the answer when none is.

        `accepted` is what became of that one.
        """
        context, request, answers = self.context, self.request, self.answers
        acks = request.acks
        for topic in request.topic_data[len(answers) :]:
            name, refused = _find_topic(context, topic, acks)
            rows, partitions = topic.partition_data, self.partitions
            if len(rows) > 1:
                rows = topic.partition_data = _once(rows)
            for data in rows[len(partitions) :]:
                if refused:
                    answer = PartitionAnswer(data.index, refused, -1)
                else:
                    found = self._append(name, data, accepted)
                    if isinstance(found, Acceptance):
                        return found
                    answer, accepted = found, None
                partitions.append(answer)
            answers.append(TopicAnswer(topic.name, topic.topic_id, partitions))
            self.partitions = []
        response = ProduceResponse(answers)
        if acks == ACKS_NONE:
            failed = any(answer.error_code for topic in answers for answer in topic.partition_responses)
            return CLOSE if failed else None
        return _answer_later(context, request, response, self.waiting) if self.waiting else response

    def go_on_later(self, task: Acceptance) -> Busy[ProduceResponse]:
        """Have helpers do what takes longer. All else is looked at afresh when that is done."""
        outcome: Promise[AtOnce] = Promise()
        holds = leave_frame(self.request, task.data)
        self._await(task, outcome)
        return Busy(outcome, holds)

    def _await(self, task: Acceptance, outcome: Promise[AtOnce]) -> None:
        task.begin(self.context.services.helpers).then(partial(self._accepted, outcome), outcome.fail)

    def _accepted(self, outcome: Promise[AtOnce], accepted: Accepted) -> None:
        self.context.now_ms = self.context.services.clock.now_ms()
        answer = self.go_on(accepted)
        if isinstance(answer, Acceptance):
            self._await(answer, outcome)
        else:
            outcome.complete(answer)

    def _append(
        self, name: str, data: PartitionData, accepted: Accepted | None
    ) -> PartitionAnswer | Acceptance:
        """Check and append one partition's batch, unless checking it takes longer; notes it in `waiting` if
        `acks` is not satisfied yet.
        """
        index = data.index
        context, request = self.context, self.request
        partition = context.services.replicas.find(name, index)
        if not isinstance(partition, Partition):
            return PartitionAnswer(index, partition, -1)
        if data.records is None:
            return PartitionAnswer(index, ErrorCode.INVALID_RECORD, -1)
        log = partition.log
        if accepted is not None and accepted.config == log.config:
            stored: Stored | Acceptance = accepted.stored
        else:
            stored = self._accept(data, log.config)
        if not isinstance(stored, tuple):
            if isinstance(stored, Acceptance):
                return stored
            return _refuse_batch(index, stored, log.log_start_offset, context.api_version)
        if stored[1].attributes & TRANSACTIONAL_FLAG:
            return PartitionAnswer(index, _refuse_transaction(request), -1)
        result = partition.append(*stored, request.acks, context.now_ms)
        if not isinstance(result, AppendResult):  # the likely one is asked for: an enumeration takes longer
            return _refuse_append(index, result, partition.role, context.api_version)
        if result.error:
            return PartitionAnswer(index, result.error, -1, log_start_offset=result.log_start_offset)
        if len(stored[0]) >= WORTH_PLACING and _has_one_batch(request):
            context.connection.place_next(stored[0], log.write_position)
        answer = PartitionAnswer(
            index, NO_ERROR, result.base_offset, result.append_time_ms, result.log_start_offset
        )
        end = result.last_offset + 1
        if partition.high_watermark < end and _done_for(request.acks)(partition, end) is None:
            self.waiting[partition] = (end, answer)
        return answer

    def _accept(self, data: PartitionData, config: LogConfig) -> Stored | Acceptance:
        """What to store of a batch, or the work of finding out."""
        batch, context = data.records, self.context
        assert isinstance(batch, memoryview)  # what the decoder gives
        version, now_ms = context.api_version, context.now_ms
        plain = accept_plain(batch, version, config, now_ms)
        if plain is not None:
            return plain
        if not is_codec_work(batch, version, config):
            return accept(batch, version, config, now_ms)
        if len(batch) <= INLINE_PACKED:
            if self.allowance is None:
                self.allowance = Allowance(INLINE)
            stored = accept_within(self.allowance, batch, version, config, now_ms)
            if stored is not SPENT:
                return stored
        return Acceptance(data, version, config, now_ms)


def _done_for(acks: int) -> Callable[[Partition, int], ErrorCode | None]:
    """What says whether a partition is as far as `acks` asks."""
    return Partition.committed if acks == ACKS_ALL else Partition.stored


def _has_one_batch(request: ProduceRequest) -> bool:
    return len(request.topic_data) == len(request.topic_data[0].partition_data) == 1


def _once(rows: list[PartitionData]) -> list[PartitionData]:
    """Each partition once, with the batch that came last."""
    return list({row.index: row for row in rows}.values())


def _find_topic(context: RequestContext, topic: TopicData, acks: int) -> tuple[str, ErrorCode]:
    """A topic's name, and what is wrong with all of it, before any of its partitions is looked at."""
    name: str | None = topic.name
    if context.api_version >= FIRST_WITH_IDS:
        name = context.services.cluster.image.topic_names.get(topic.topic_id)
    if acks not in (ACKS_NONE, ACKS_LEADER, ACKS_ALL):
        return "", ErrorCode.INVALID_REQUIRED_ACKS
    if name is None:
        return "", ErrorCode.UNKNOWN_TOPIC_ID
    if is_internal(name) and context.client_id != TRUSTED_CLIENT_ID:
        exists = name in context.services.cluster.image.topics
        return "", ErrorCode.INVALID_TOPIC_EXCEPTION if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return name, NO_ERROR


def _refuse_transaction(request: ProduceRequest) -> ErrorCode:
    if request.transactional_id is None:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return ErrorCode.INVALID_TXN_STATE


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
