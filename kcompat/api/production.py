"""One Produce on its way into the logs, whatever that takes. See `kcompat.api.produce`."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from kcompat.api.acceptance import (
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
from kcompat.api.context import Busy
from kcompat.api.leaders import current_leader, endpoints
from kcompat.log.append_result import AppendResult
from kcompat.log.verification import BY_CLIENT
from kcompat.net.answers import CLOSE, Close
from kcompat.net.placing import WORTH_PLACING
from kcompat.promise import Promise
from kcompat.protocol.constants import ACKS_ALL, ACKS_LEADER, ACKS_NONE
from kcompat.protocol.errors import NO_ERROR, ErrorCode, error_of
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.records.allowance import Allowance
from kcompat.records.batch import iter_headers
from kcompat.replication.partition import Partition
from kcompat.replication.waiting.delayed_progress import DelayedProgress
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.topics import is_internal

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.api.acceptance import Accepted, Stored
    from kcompat.api.claimed import Claimed
    from kcompat.api.context import RequestContext
    from kcompat.log.config import LogConfig
    from kcompat.net.answers import Connection
    from kcompat.records.validate import Refusal

FIRST_WITH_RECORD_ERRORS = 8
FIRST_WITH_LEADER = 10
FIRST_WITH_IDS = 13
TRUSTED_CLIENT_ID = "__admin_client"
NO_TOPIC = ""
BEFORE_LOOKING = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
"""Refusals of a topic that must not show which of its partitions there are."""

WITHOUT_LOG_START = (
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
)
"""Refusals of a log beside which Kafka's `appendToLocalLog` does not say where the log starts."""

TopicAnswer = ProduceResponse.TopicProduceResponse
PartitionAnswer = ProduceResponse.PartitionProduceResponse
TopicData = ProduceRequest.TopicProduceData
PartitionData = ProduceRequest.PartitionProduceData

AtOnce: TypeAlias = "ProduceResponse | Promise[ProduceResponse] | Close | None"


class Production(Struct):
    """One request on its way into the logs: names are resolved, topics admitted, batches accepted and then
    appended; the answer waits for what `acks` asks.
    """

    context: RequestContext
    request: ProduceRequest
    answers: list[TopicAnswer]
    partitions: list[PartitionAnswer]
    """The answers so far in the topic whose turn it is."""
    waiting: dict[Partition, tuple[int, PartitionAnswer]]
    leaders: list[int]
    """Brokers that lead what this one was asked to append to."""
    allowance: Allowance | None = None
    claimed: Claimed | None = None
    """What is known of its transaction, if it has one."""
    admitted: list[tuple[str, ErrorCode]] = []
    """The name of each topic and with what it is refused, where that has been looked at already."""

    def go_on(self, accepted: Accepted | None) -> AtOnce | Acceptance:
        """Take the batches that are left, up to one whose acceptance takes longer; the answer when none does.

        `accepted` is what became of that one.
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
                rows = topic.partition_data = once(rows)
            for data in rows[len(partitions) :]:
                partition = find(name, data.index)
                if refusal or data.records is None or not isinstance(partition, Partition):
                    answer = _refuse(data, refusal, partition)
                    if not refusal and not isinstance(partition, Partition):
                        self._note_refusal(name, data, answer)
                    self._say_who_leads(name, answer)
                elif self.claimed is not None and (denied := self.claimed.refusal(name, data.index)):
                    answer = denied
                    self._say_who_leads(name, answer)
                else:
                    stored = self._accept(data, partition.log.config, accepted)
                    if isinstance(stored, Acceptance):
                        return stored
                    accepted = None
                    answer = self._append(partition, data.index, stored)
                partitions.append(answer)
            answers.append(TopicAnswer(topic.name, topic.topic_id, partitions))
            self.partitions = []
        return self._finish()

    def _finish(self) -> AtOnce:
        """The answer, now that all partitions have theirs."""
        response = ProduceResponse(self.answers)
        if self.leaders:
            self._name_leaders(response)
        if self.request.acks == ACKS_NONE:
            return close_if_failed(response)
        return self._wait(response) if self.waiting else response

    def go_on_when(self, claimed: Promise[Claimed]) -> Busy[ProduceResponse]:
        """Go on once the transaction is known. What comes behind it on the connection waits, or the batches
        of a producer would be out of order.
        """
        outcome: Promise[AtOnce] = Promise()
        first = next(data for topic in self.request.topic_data for data in topic.partition_data)
        holds = leave_frame(self.request, first)
        claimed.then(partial(self._claimed, outcome), outcome.fail)
        return Busy(outcome, holds)

    def _claimed(self, outcome: Promise[AtOnce], claimed: Claimed) -> None:
        self.claimed = claimed
        self._resume(outcome, None)

    def go_on_later(self, task: Acceptance) -> Busy[ProduceResponse]:
        """Have helpers do what takes longer. All else is looked at afresh when that is done."""
        outcome: Promise[AtOnce] = Promise()
        holds = leave_frame(self.request, task.data)
        self._await(task, outcome)
        return Busy(outcome, holds)

    def _await(self, task: Acceptance, outcome: Promise[AtOnce]) -> None:
        task.begin(self.context.services.server.helpers).then(partial(self._resume, outcome), outcome.fail)

    def _resume(self, outcome: Promise[AtOnce], accepted: Accepted | None) -> None:
        self.context.now_ms = self.context.services.server.clock.now_ms()
        answer = self.go_on(accepted)
        if isinstance(answer, Acceptance):
            self._await(answer, outcome)
        else:
            outcome.complete(answer)

    def _accept(
        self, data: PartitionData, config: LogConfig, accepted: Accepted | None
    ) -> Stored | Acceptance:
        """What to store of a batch, or the work of finding out."""
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

    def _append(self, partition: Partition, index: int, stored: Stored) -> PartitionAnswer:
        """Append what was accepted."""
        context = self.context
        if not isinstance(stored, tuple):
            return _refuse_batch(index, stored, partition.log.log_start_offset, context.api_version)
        batch, header = stored
        terms = BY_CLIENT if self.claimed is None else self.claimed.terms_of(partition.topic, index)
        result = partition.append(batch, header, self.request.acks, context.now_ms, terms)
        if isinstance(result, AppendResult) and not result.error and _has_one_batch(self.request):
            place_behind(context.connection, batch, partition)
        return self._appended(partition, index, result)

    def answer(self, partition: Partition, result: AppendResult | ErrorCode) -> AtOnce:
        """The answer where the one batch of the request has been appended already, or refused."""
        topic = self.request.topic_data[0]
        rows = [self._appended(partition, topic.partition_data[0].index, result)]
        self.answers.append(TopicAnswer(topic.name, topic.topic_id, rows))
        return self._finish()

    def _appended(
        self, partition: Partition, index: int, result: AppendResult | ErrorCode
    ) -> PartitionAnswer:
        """The answer to an append; notes it in `waiting` if `acks` is not satisfied yet."""
        if not isinstance(result, AppendResult):  # asking for ErrorCode, an enumeration, takes longer
            refused = PartitionAnswer(index, result, -1)
            if result == ErrorCode.NOT_ENOUGH_REPLICAS:
                refused.log_start_offset = partition.log.log_start_offset
            self._say_who_leads(partition.topic, refused)
            return refused
        if result.error:
            refused = PartitionAnswer(index, result.error, -1)
            if result.error not in WITHOUT_LOG_START:
                refused.log_start_offset = result.log_start_offset
            self._say_who_leads(partition.topic, refused)
            return refused
        answer = PartitionAnswer(
            index, NO_ERROR, result.base_offset, result.append_time_ms, result.log_start_offset
        )
        end = result.last_offset + 1
        outcome = outcome_of(partition, end, self.request.acks)
        if outcome is None:
            self.waiting[partition] = (end, answer)
        elif outcome:  # of a batch that was there already: nothing more comes of it
            answer.error_code, answer.base_offset = outcome, -1
        return answer

    def _note_refusal(self, topic: str, data: PartitionData, answer: PartitionAnswer) -> None:
        """Have those behind a batch refused as it is, should its partition come here meanwhile."""
        batch = data.records
        if isinstance(batch, memoryview) and self.context.api_version >= FIRST_WITH_BATCHES:
            for _, header in islice(iter_headers(batch), 1):
                error = error_of(answer.error_code)
                self.context.services.storage.replicas.note_refusal(topic, data.index, header, error)

    def _say_who_leads(self, topic: str, answer: PartitionAnswer) -> None:
        """Beside the error that another broker leads, say which (KIP-951)."""
        if (
            answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            and self.context.api_version >= FIRST_WITH_LEADER
        ):
            leader, epoch = current_leader(self.context, topic, answer.index)
            answer.current_leader = PartitionAnswer.LeaderIdAndEpoch(leader, epoch)
            self.leaders.append(leader)

    def _name_leaders(self, response: ProduceResponse) -> None:
        """Say where the leaders are that were named."""
        found = endpoints(self.context, self.leaders)
        response.node_endpoints = [ProduceResponse.NodeEndpoint(*each) for each in found]

    def _wait(self, response: ProduceResponse) -> Promise[ProduceResponse]:
        """The response, once each partition is as far as `acks` asks; only acks=all has a timeout. As with
        Kafka's `DelayedProduce`, an error that comes after the append leaves the offsets in its row. A sync
        that fails is part of the append in Kafka, so its row has no base offset.
        """
        request, waiting = self.request, self.waiting

        def settle(partition: Partition, error: ErrorCode) -> None:
            answer = waiting[partition][1]
            if error:
                answer.error_code = error
                if error is ErrorCode.KAFKA_STORAGE_ERROR:
                    answer.base_offset = -1
                self._say_who_leads(partition.topic, answer)
                self._name_leaders(response)

        required = {partition: offset for partition, (offset, _) in waiting.items()}
        operation = DelayedProgress(required, settle, response, _done_for(request.acks))
        timeout_ms = request.timeout_ms if request.acks == ACKS_ALL else None
        return self.context.services.storage.replicas.produces.wait(
            operation, tuple(waiting), timeout_ms
        ).promise


def resolve(context: RequestContext, topic: TopicData) -> str:
    """The name of a topic; `NO_TOPIC` for an id that no topic has."""
    if context.api_version < FIRST_WITH_IDS:
        return topic.name
    return context.services.cluster.metadata.image.topic_names.get(topic.topic_id, NO_TOPIC)


def admit(context: RequestContext, name: str, acks: int) -> ErrorCode:
    """The error with which all partitions of a topic are refused; NO_ERROR if they are not."""
    if name == NO_TOPIC and context.api_version >= FIRST_WITH_IDS:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not (
        context.services.server.authorizer.allows_everything
        or context.may(Operation.WRITE, Resource.topic(name))
    ):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if acks not in (ACKS_NONE, ACKS_LEADER, ACKS_ALL):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if is_internal(name) and context.client_id != TRUSTED_CLIENT_ID:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return NO_ERROR


def _refuse(data: PartitionData, refusal: ErrorCode, partition: Partition | ErrorCode) -> PartitionAnswer:
    """The answer for a batch that is not accepted, for the reason that Kafka looks at first."""
    is_looked_at = refusal not in BEFORE_LOOKING
    if partition == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and is_looked_at:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif refusal:
        error = refusal
    else:
        error = partition if isinstance(partition, ErrorCode) else ErrorCode.INVALID_RECORD
    return PartitionAnswer(data.index, error, -1)


def close_if_failed(response: ProduceResponse) -> Close | None:
    """For a client that wants no answer: if a batch failed, a closed connection is how it learns of it."""
    failed = any(row.error_code for topic in response.responses for row in topic.partition_responses)
    return CLOSE if failed else None


def outcome_of(partition: Partition, end: int, acks: int) -> int | None:
    """NO_ERROR where what was appended below `end` is as far as `acks` asks, the error where it never will
    be, None for "not yet".
    """
    return NO_ERROR if partition.high_watermark >= end else _done_for(acks)(partition, end)


def place_behind(connection: Connection, batch: memoryview, partition: Partition) -> None:
    """Have the next batch received where it fits behind this one, if it is for the same partition."""
    if len(batch) >= WORTH_PLACING:
        connection.place_next(batch, partition.log.write_position)


def _done_for(acks: int) -> Callable[[Partition, int], ErrorCode | None]:
    """The method that says whether a partition is as far as `acks` asks."""
    return Partition.committed if acks == ACKS_ALL else Partition.stored


def _has_one_batch(request: ProduceRequest) -> bool:
    return len(request.topic_data) == len(request.topic_data[0].partition_data) == 1


def once(rows: list[PartitionData]) -> list[PartitionData]:
    """Each partition once, with the batch that came last."""
    return list({row.index: row for row in rows}.values())


def _refuse_batch(
    index: int, refusal: Refusal | None, log_start_offset: int, api_version: int
) -> PartitionAnswer:
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
