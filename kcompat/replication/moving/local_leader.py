"""The logs of this broker as a leader of copies in its other log directories (Kafka's `LocalLeaderEndPoint`).

It answers the requests of a `Fetcher`, whichever broker leads the partition: a log is copied up to its end.
One partition is copied at a time, so that each move ends as soon as possible: the current one as long as it
is fetched, then the first by name. A fetch waits while copies exceed their rate limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.files import FileRange
from kcompat.promise import Promise
from kcompat.protocol.api_keys import API_FACTS
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse
from kcompat.replication import reading
from kcompat.replication.errors import FAULTS, fence, storage_error
from kcompat.replication.following.fetcher import HOLD_MS
from kcompat.replication.listing import LATEST_TIMESTAMP
from kcompat.replication.reading import Fetched, FetchSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock, Timer
    from kcompat.protocol.api_keys import ApiKey
    from kcompat.protocol.message import Message
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.replication.throttle import ReplicationThrottle

Row = FetchRequest.FetchPartition
RowAnswer = FetchResponse.PartitionData
Offset = ListOffsetsResponse.ListOffsetsPartitionResponse


class LocalLeader:
    """The `LeaderPort` of one copier. Responses are delivered in a later iteration of the event loop."""

    def __init__(self, replicas: ReplicaManager, clock: Clock, throttle: ReplicationThrottle) -> None:
        self._replicas = replicas
        self._clock = clock
        self._throttle = throttle
        self._copied: tuple[str, int] | None = None
        """The partition that is being copied."""
        self._waiting: Timer | None = None
        """Timer that ends the pending fetch at its `max_wait_ms`."""

    def ask(self, key: ApiKey, make: Callable[[int], Message], timeout_ms: int) -> Promise[Message]:  # noqa: ARG002 - it is never late
        request = make(API_FACTS[key].latest_stable)
        promise: Promise[Message] = Promise()

        def answer() -> None:
            is_fetch = isinstance(request, FetchRequest)
            if is_fetch and self._throttle.is_exceeded(self._clock.now_ms()):
                self._waiting = self._clock.call_later(HOLD_MS, answer)
                return
            try:
                response = self._answer(request)
            except Exception as bug:
                promise.fail(bug)
            else:
                promise.complete(response)

        timer = self._clock.call_later(0, answer)
        if isinstance(request, FetchRequest):
            self._waiting = timer
        return promise

    def disconnect(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()

    def _answer(self, request: Message) -> Message:
        match request:
            case FetchRequest():
                return self._fetch(request)
            case ListOffsetsRequest():
                return self._list_offsets(request)
            case _:
                return OffsetForLeaderEpochResponse()  # an empty request, sent to end a fetch that waits

    def _fetch(self, request: FetchRequest) -> FetchResponse:
        requested = {
            (topic.topic, row.partition): (topic.topic_id, row)
            for topic in request.topics
            for row in topic.partitions
        }
        if not requested:
            return FetchResponse()
        if self._copied not in requested:
            self._copied = min(requested)
        topic_id, row = requested[self._copied]
        name = self._copied[0]
        partition = self._replicas.get(*self._copied)
        answer = RowAnswer(row.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if partition is not None:
            answer = _read(partition, row)
        topic = FetchResponse.FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=[answer])
        return FetchResponse(responses=[topic])

    def _list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        answers = [
            ListOffsetsResponse.ListOffsetsTopicResponse(
                topic.name, [self._offset(topic.name, question) for question in topic.partitions]
            )
            for topic in request.topics
        ]
        return ListOffsetsResponse(topics=answers)

    def _offset(self, topic: str, question: ListOffsetsRequest.ListOffsetsPartition) -> Offset:
        partition = self._replicas.get(topic, question.partition_index)
        answer = Offset(question.partition_index)
        if partition is None:
            answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return answer
        log = partition.log
        answer.error_code = fence(question.current_leader_epoch, partition.state.epoch)
        answer.offset = log.log_end_offset if question.timestamp == LATEST_TIMESTAMP else log.log_start_offset
        return answer


def _read(partition: Partition, row: Row) -> RowAnswer:
    log, state = partition.log, partition.state
    error = fence(row.current_leader_epoch, state.epoch)
    if not error and log.is_failed:
        error = ErrorCode.KAFKA_STORAGE_ERROR
    if error:
        return RowAnswer(row.partition, error)
    spec = FetchSpec(
        row.fetch_offset, row.partition_max_bytes, row.current_leader_epoch, row.last_fetched_epoch
    )
    shown = Fetched(ErrorCode.NONE, state.high_watermark, -1, log.log_start_offset)
    try:
        found = reading.read(
            log, spec, shown, log.log_end_offset, row.partition_max_bytes, min_one_batch=True, aborted=False
        )
        records = found.records.read() if isinstance(found.records, FileRange) else b""
    except FAULTS as fault:
        return RowAnswer(row.partition, storage_error(fault, log))
    answer = RowAnswer(row.partition, found.error, found.high_watermark)
    answer.log_start_offset = found.log_start_offset
    if found.diverging is not None:
        answer.diverging_epoch = FetchResponse.EpochEndOffset(*found.diverging)
    answer.records = memoryview(records)
    return answer
