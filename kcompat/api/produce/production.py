"""The steps of a Produce request, from topic names to the response; `kcompat.api.produce` lists them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from kcompat.api.context import Busy
from kcompat.api.failures import note_batch
from kcompat.api.produce.acceptance import (
    FIRST_WITH_BATCHES,
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
from kcompat.api.produce.refusals import (
    PartitionAnswer,
    PartitionData,
    TopicAnswer,
    add_current_leader,
    add_endpoints,
    close_if_failed,
    note_refusal,
    refuse_append,
    refuse_batch,
    refuse_request,
    refuse_unread,
)
from kcompat.api.produce.verification import has_transactional, verify
from kcompat.api.topic_access import may_use_topic
from kcompat.log.append import BY_CLIENT, AppendResult
from kcompat.net.placing import WORTH_PLACING
from kcompat.promise import Promise
from kcompat.protocol.constants import ACKS_ALL, ACKS_LEADER, ACKS_NONE
from kcompat.protocol.errors import NO_ERROR, ErrorCode
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.records.allowance import Allowance
from kcompat.replication.partition import Partition
from kcompat.replication.waiting.delayed_progress import DelayedProgress
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.topics import is_internal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.api.context import RequestContext
    from kcompat.api.produce.acceptance import Accepted, Stored
    from kcompat.api.produce.verification import VerifiedPartitions
    from kcompat.log.config import LogConfig
    from kcompat.net.answers import Close, Connection

FIRST_WITH_IDS = 13
TRUSTED_CLIENT_ID = "__admin_client"
NO_TOPIC = ""

TopicData = ProduceRequest.TopicProduceData
AtOnce: TypeAlias = "ProduceResponse | Promise[ProduceResponse] | Close | None"


def handle(
    context: RequestContext, request: ProduceRequest
) -> ProduceResponse | Promise[ProduceResponse] | Busy[ProduceResponse] | Close | None:
    """Append every batch, then answer as `acks` requires."""
    production = Production(context, request, [], [], {}, [])
    is_transactional = has_transactional(request)
    if len(request.topic_data) > 1:
        request.topic_data = _merge(request.topic_data)
    if is_transactional:
        return _handle_transactional(production)
    return production.begin()


def _handle_transactional(
    production: Production,
) -> ProduceResponse | Promise[ProduceResponse] | Busy[ProduceResponse] | Close | None:
    """Append the batches of partitions that are in the transaction, once the coordinator has
    verified them.
    """
    context, request = production.context, production.request
    name = request.transactional_id
    if name is None or not context.may(Operation.WRITE, Resource.transactional_id(name)):
        return _answer_refused(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    production.admitted = _admit_all(context, request)
    verified = verify(context, name, _writable(request, production.admitted))
    if isinstance(verified, ErrorCode):
        return _answer_refused(request, verified)
    if not verified.done:
        return production.begin_when(verified)
    production.verified = verified.value
    return production.begin()


class Production(Struct):
    """A Produce request that is being appended, and the responses to its partitions so far."""

    context: RequestContext
    request: ProduceRequest
    answers: list[TopicAnswer]
    partitions: list[PartitionAnswer]
    """Responses so far to the partitions of the current topic."""
    waiting: dict[Partition, tuple[int, PartitionAnswer]]
    """End offset and response of each append that `acks` still waits for, by partition."""
    leaders: list[int]
    """Ids of the leaders of partitions that this broker does not lead."""
    allowance: Allowance | None = None
    verified: VerifiedPartitions | None = None
    """Outcome of the verification; None for a request without batches of a transaction."""
    admitted: list[tuple[str, ErrorCode]] = []
    """Name of each topic and the error that refuses it, for a transactional request; empty otherwise."""

    def begin(self) -> AtOnce | Busy[ProduceResponse]:
        """Return the response, or the work that a helper thread has to do before."""
        answer = self._go_on(None)
        return self._go_on_later(answer) if isinstance(answer, Acceptance) else answer

    def begin_when(self, verified: Promise[VerifiedPartitions]) -> Busy[ProduceResponse]:
        """Begin once the partitions are verified. Later frames of the connection wait, or a producer's
        batches would be appended out of order.
        """
        outcome: Promise[AtOnce] = Promise()
        first = next(data for topic in self.request.topic_data for data in topic.partition_data)
        holds = leave_frame(self.request, first)
        verified.then(partial(self._begin_verified, outcome), outcome.fail)
        return Busy(outcome, holds)

    def _begin_verified(self, outcome: Promise[AtOnce], verified: VerifiedPartitions) -> None:
        self.verified = verified
        self._resume(outcome, None)

    def _go_on(self, accepted: Accepted | None) -> AtOnce | Acceptance:
        """Append the remaining batches, up to one that a helper thread has to accept; return the response if
        there is none.

        `accepted` is the outcome for the batch at which the last call stopped.
        """
        context, request, answers = self.context, self.request, self.answers
        find = context.services.storage.replicas.find
        for topic in request.topic_data[len(answers) :]:
            if self.admitted:
                name, refusal = self.admitted[len(answers)]
            else:
                name = resolve(context, topic)
                refusal = admit(context, name, request.acks)
            rows, partitions = topic.partition_data, self.partitions
            if len(rows) > 1:
                rows = topic.partition_data = _once(rows)
            for data in rows[len(partitions) :]:
                partition = find(name, data.index)
                if refusal or data.records is None or not isinstance(partition, Partition):
                    answer = refuse_unread(data, refusal, partition)
                    note_batch(context, (name, data.index), answer, partition, data.records)
                    if not refusal and not isinstance(partition, Partition):
                        note_refusal(context, name, data, answer)
                    add_current_leader(context, name, answer, self.leaders)
                elif self.verified is not None and (denied := self.verified.refusal(name, data.index)):
                    answer = denied
                    note_batch(context, (name, data.index), answer, partition, data.records)
                    add_current_leader(context, name, answer, self.leaders)
                else:
                    stored = self._accept(data, partition.log.config, accepted)
                    if isinstance(stored, Acceptance):
                        return stored
                    accepted = None
                    answer = self._append(partition, data, stored)
                partitions.append(answer)
            answers.append(TopicAnswer(topic.name, topic.topic_id, partitions))
            self.partitions = []
        return self._finish()

    def _finish(self) -> AtOnce:
        """Return the response, or the wait for it, after every partition has its row."""
        response = ProduceResponse(self.answers)
        if self.leaders:
            add_endpoints(self.context, response, self.leaders)
        if self.request.acks == ACKS_NONE:
            return close_if_failed(response)
        return self._wait(response) if self.waiting else response

    def _go_on_later(self, task: Acceptance) -> Busy[ProduceResponse]:
        """Have a helper thread accept a batch, then continue. Partitions are looked up again after that."""
        outcome: Promise[AtOnce] = Promise()
        holds = leave_frame(self.request, task.data)
        self._await(task, outcome)
        return Busy(outcome, holds)

    def _await(self, task: Acceptance, outcome: Promise[AtOnce]) -> None:
        task.begin(self.context.services.server.helpers).then(partial(self._resume, outcome), outcome.fail)

    def _resume(self, outcome: Promise[AtOnce], accepted: Accepted | None) -> None:
        self.context.now_ms = self.context.services.server.clock.now_ms()
        answer = self._go_on(accepted)
        if isinstance(answer, Acceptance):
            self._await(answer, outcome)
        else:
            outcome.complete(answer)

    def _accept(
        self, data: PartitionData, config: LogConfig, accepted: Accepted | None
    ) -> Stored | Acceptance:
        """Return the bytes to store of a batch, or the work of a helper thread that finds them."""
        if accepted is not None and accepted.config == config:
            return accepted.stored
        batch, context = data.records, self.context
        assert isinstance(batch, memoryview)  # what the decoder gives
        version, now_ms = context.api_version, context.now_ms
        header = accept_plain(batch, version, config, now_ms)
        if header is not None:
            return batch, header
        if not is_codec_work(batch, version, config):
            return accept(batch, version, config, now_ms)
        if len(batch) <= INLINE_PACKED:
            if self.allowance is None:
                self.allowance = Allowance(INLINE)
            stored = accept_within(self.allowance, batch, version, config, now_ms)
            if stored is not SPENT:
                return stored
        return Acceptance(data, version, config, now_ms)

    def _append(self, partition: Partition, data: PartitionData, stored: Stored) -> PartitionAnswer:
        """Append the accepted bytes, and return the partition's response."""
        context, index = self.context, data.index
        if not isinstance(stored, tuple):
            if stored is not None:
                partition.statistics.note_refusal(stored.error, len(data.records or b""))
            answer = refuse_batch(index, stored, partition.log.log_start_offset, context.api_version)
            note_batch(context, (partition.topic, index), answer, partition, None)
            return answer
        batch, header = stored
        if context.api_version < FIRST_WITH_BATCHES:
            partition.statistics.produce_conversions += header.record_count
        terms = BY_CLIENT if self.verified is None else self.verified.terms_of(partition.topic, index)
        result = partition.append(batch, header, self.request.acks, context.now_ms, terms)
        if isinstance(result, AppendResult) and not result.error and _has_one_batch(self.request):
            place_behind(context.connection, batch, partition)
        return self._appended(partition, index, result, batch)

    def answer(self, partition: Partition, result: AppendResult | ErrorCode, batch: memoryview) -> AtOnce:
        """Return the response to a request whose only batch `repeated.py` has appended, or failed
        to append.
        """
        topic = self.request.topic_data[0]
        rows = [self._appended(partition, topic.partition_data[0].index, result, batch)]
        self.answers.append(TopicAnswer(topic.name, topic.topic_id, rows))
        return self._finish()

    def _appended(
        self, partition: Partition, index: int, result: AppendResult | ErrorCode, batch: memoryview
    ) -> PartitionAnswer:
        """Return the response to an append, and add it to `waiting` if `acks` is not satisfied yet."""
        # An isinstance check against the enumeration ErrorCode would take longer.
        if not isinstance(result, AppendResult) or result.error:
            refused = refuse_append(partition, index, result)
            note_batch(self.context, (partition.topic, index), refused, partition, batch)
            add_current_leader(self.context, partition.topic, refused, self.leaders)
            return refused
        answer = PartitionAnswer(
            index, NO_ERROR, result.base_offset, result.append_time_ms, result.log_start_offset
        )
        end = result.last_offset + 1
        outcome = outcome_of(partition, end, self.request.acks)
        if outcome is None:
            self.waiting[partition] = (end, answer)
        elif outcome:  # a duplicate batch that can no longer be committed
            answer.error_code, answer.base_offset = outcome, -1
        return answer

    def _wait(self, response: ProduceResponse) -> Promise[ProduceResponse]:
        """Promise the response for when each partition is as far as `acks` requires; only acks=all has a
        timeout.

        As in Kafka's `DelayedProduce`, a row with an error after the append keeps its offsets. A failed sync
        is part of the append in Kafka, so its row has no base offset.
        """
        request, waiting = self.request, self.waiting

        def settle(partition: Partition, error: ErrorCode) -> None:
            answer = waiting[partition][1]
            if error:
                answer.error_code = error
                note_batch(self.context, (partition.topic, answer.index), answer, partition, None)
                if error is ErrorCode.KAFKA_STORAGE_ERROR:
                    answer.base_offset = -1
                add_current_leader(self.context, partition.topic, answer, self.leaders)
                add_endpoints(self.context, response, self.leaders)

        required = {partition: offset for partition, (offset, _) in waiting.items()}
        operation = DelayedProgress(required, settle, response, _done_for(request.acks))
        timeout_ms = request.timeout_ms if request.acks == ACKS_ALL else None
        return self.context.services.storage.replicas.produces.wait(
            operation, tuple(waiting), timeout_ms
        ).promise


def resolve(context: RequestContext, topic: TopicData) -> str:
    """Return the name of a topic, or `NO_TOPIC` for an id that no topic has."""
    if context.api_version < FIRST_WITH_IDS:
        return topic.name
    return context.services.cluster.metadata.image.topic_names.get(topic.topic_id, NO_TOPIC)


def admit(context: RequestContext, name: str, acks: int) -> ErrorCode:
    """Return the error with which all partitions of a topic are refused, or NO_ERROR."""
    if name == NO_TOPIC and context.api_version >= FIRST_WITH_IDS:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not may_use_topic(context, Operation.WRITE, name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if acks not in (ACKS_NONE, ACKS_LEADER, ACKS_ALL):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if is_internal(name) and context.client_id != TRUSTED_CLIENT_ID:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return NO_ERROR


def outcome_of(partition: Partition, end: int, acks: int) -> int | None:
    """Return NO_ERROR if the records below `end` are as far as `acks` requires, the error if they never will
    be, or None if they may be later.
    """
    return NO_ERROR if partition.high_watermark >= end else _done_for(acks)(partition, end)


def place_behind(connection: Connection, batch: memoryview, partition: Partition) -> None:
    """Have the connection receive its next batch into memory that follows this batch in the log's file."""
    if len(batch) >= WORTH_PLACING:
        connection.place_next(batch, partition.log.write_position)


def _done_for(acks: int) -> Callable[[Partition, int], ErrorCode | None]:
    """Return the method that tells whether a partition is as far as `acks` requires."""
    return Partition.committed if acks == ACKS_ALL else Partition.stored


def _has_one_batch(request: ProduceRequest) -> bool:
    return len(request.topic_data) == len(request.topic_data[0].partition_data) == 1


def _answer_refused(request: ProduceRequest, error: ErrorCode) -> ProduceResponse | Close | None:
    response = refuse_request(request, error)
    return close_if_failed(response) if request.acks == ACKS_NONE else response


def _admit_all(context: RequestContext, request: ProduceRequest) -> list[tuple[str, ErrorCode]]:
    """Return the name of each topic, and the error that refuses it or NO_ERROR."""
    names = [resolve(context, topic) for topic in request.topic_data]
    return [(name, admit(context, name, request.acks)) for name in names]


def _writable(
    request: ProduceRequest, admitted: list[tuple[str, ErrorCode]]
) -> Iterator[tuple[str, PartitionData]]:
    """Yield the partitions of topics that the client may write to, with the topic name."""
    for topic, (name, refusal) in zip(request.topic_data, admitted, strict=True):
        if not refusal:
            for data in _once(topic.partition_data):
                yield name, data


def _once(rows: list[PartitionData]) -> list[PartitionData]:
    """Return each partition once, with the last of its batches."""
    return list({row.index: row for row in rows}.values())


def _merge(topics: list[TopicData]) -> list[TopicData]:
    """Return each topic once, with all its partitions.

    A partition in two entries would be written twice, and acks=all would wait only for the later batch.
    """
    merged: dict[tuple[str, bytes], TopicData] = {}
    for topic in topics:
        known = merged.setdefault((topic.name, topic.topic_id), topic)
        if known is not topic:
            known.partition_data += topic.partition_data
    return list(merged.values())
