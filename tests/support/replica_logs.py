"""Logs in memory, written down as the leader epochs of their records.

"0012" has four records; the third is of epoch 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.epochs import LeaderEpochCache
from kcompat.log.errors import StorageError
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kcompat.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kcompat.records.batch import build_batch, iter_headers
from kcompat.records.record import Record

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

TOPIC, TOPIC_ID = "t", b"t" * 16


def batch_of(offset: int, epoch: int) -> bytes:
    """One record, of which epoch and offset make the value."""
    record = Record(0, 1000, None, b"%d in epoch %d" % (offset, epoch))
    return bytes(build_batch([record], base_offset=offset, leader_epoch=epoch))


class MemoryLog:
    """A replica that has one record at each offset (a `FollowerLog`)."""

    def __init__(self, epochs: str = "", *, start: int = 0, high_watermark: int = 0, index: int = 0) -> None:
        """`epochs` has a digit for each offset from `start` on."""
        self.topic, self.topic_id, self.index = TOPIC, TOPIC_ID, index
        self.log_start_offset = start
        self.high_watermark = max(high_watermark, start)
        self.records = [int(epoch) for epoch in epochs]
        self.cache = LeaderEpochCache()
        for at, epoch in enumerate(self.records, start):
            self.cache.assign(epoch, at)
        self.fault: OSError | None = None
        self.holds = False
        self.cuts: list[int] = []
        self.first_offset = start

    @property
    def written(self) -> str:
        """The log as it is written down."""
        return "".join(map(str, self.records))

    @property
    def log_end_offset(self) -> int:
        return self.first_offset + len(self.records)

    @property
    def latest_epoch(self) -> int:
        return self.cache.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self.cache.end_offset_for(epoch, self.log_end_offset)

    def append(self, records: memoryview, leader_epoch: int) -> ErrorCode:
        if self.fault is not None:
            raise StorageError("/disk", self.fault)
        for _, header in iter_headers(records):
            if header.leader_epoch > leader_epoch:
                break
            if header.base_offset != self.log_end_offset:
                return ErrorCode.OFFSET_OUT_OF_RANGE
            self.cache.assign(header.leader_epoch, header.base_offset)
            self.records.append(header.leader_epoch)
        return ErrorCode.NONE

    def update_bounds(self, high_watermark: int, log_start_offset: int) -> None:
        self.high_watermark = max(self.high_watermark, min(high_watermark, self.log_end_offset))
        self.log_start_offset = max(self.log_start_offset, log_start_offset)

    def is_held(self, lag: int) -> bool:
        return self.holds and lag != 0

    def truncate_to(self, offset: int) -> None:
        if self.fault is not None:
            raise StorageError("/disk", self.fault)
        if offset < self.log_end_offset:
            self.cuts.append(offset)
            del self.records[offset - self.first_offset :]
        self.cache.truncate_from_end(offset)
        self.high_watermark = min(self.high_watermark, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        self.cuts.append(offset)
        self.records.clear()
        self.cache.clear()
        self.first_offset = self.log_start_offset = self.high_watermark = offset


class MemoryLeader:
    """A broker that leads the partitions of these logs in one epoch, and answers their followers."""

    def __init__(self, leader_epoch: int, *logs: MemoryLog) -> None:
        self.leader_epoch = leader_epoch
        self.logs = {log.index: log for log in logs}
        for log in logs:
            log.cache.assign(leader_epoch, log.log_end_offset)
        self.session: dict[int, FetchRequest.FetchPartition] = {}
        self.session_epoch = 0
        self.errors: dict[int, ErrorCode] = {}
        """Errors to answer for partitions, in place of data."""

    def answer(self, request: Message) -> Message:
        """Return the leader's response."""
        match request:
            case FetchRequest():
                return self._fetch(request)
            case OffsetForLeaderEpochRequest():
                return self._epochs(request)
            case ListOffsetsRequest():
                return self._offsets(request)
        raise AssertionError(request)

    def _fetch(self, request: FetchRequest) -> FetchResponse:
        if request.session_epoch == 0:
            self.session, self.session_epoch = {}, 0
        assert request.session_epoch == self.session_epoch
        for forgotten in request.forgotten_topics_data:
            for index in forgotten.partitions:
                del self.session[index]
        self.session.update({row.partition: row for topic in request.topics for row in topic.partitions})
        self.session_epoch += 1
        rows = [self._read(index, asked) for index, asked in self.session.items()]
        topic = FetchResponse.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=rows)
        return FetchResponse(session_id=7, responses=[topic])

    def _read(self, index: int, asked: FetchRequest.FetchPartition) -> FetchResponse.PartitionData:
        error = self.errors.get(index) or self._fence(asked.current_leader_epoch)
        if error:
            return FetchResponse.PartitionData(index, error)
        log = self.logs[index]
        answer = FetchResponse.PartitionData(
            index, high_watermark=log.high_watermark, log_start_offset=log.log_start_offset
        )
        offset = asked.fetch_offset
        if asked.last_fetched_epoch >= 0:
            epoch, end = log.end_offset_for_epoch(asked.last_fetched_epoch)
            if epoch < 0 or offset < log.log_start_offset:
                return FetchResponse.PartitionData(index, ErrorCode.OFFSET_OUT_OF_RANGE)
            if epoch < asked.last_fetched_epoch or end < offset:
                answer.diverging_epoch = FetchResponse.EpochEndOffset(epoch, end)
                return answer
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return FetchResponse.PartitionData(index, ErrorCode.OFFSET_OUT_OF_RANGE)
        rest = log.records[offset - log.first_offset :]
        batches = [batch_of(offset + at, epoch) for at, epoch in enumerate(rest)]
        answer.records = memoryview(b"".join(batches))
        return answer

    def _epochs(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        rows = []
        for asked in (row for topic in request.topics for row in topic.partitions):
            error = self.errors.get(asked.partition) or self._fence(asked.current_leader_epoch)
            found = self.logs[asked.partition].end_offset_for_epoch(asked.leader_epoch)
            epoch, end = (-1, -1) if error else found
            rows.append(OffsetForLeaderEpochResponse.EpochEndOffset(error, asked.partition, epoch, end))
        return OffsetForLeaderEpochResponse(
            topics=[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(TOPIC, rows)]
        )

    def _offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        rows = []
        for asked in (row for topic in request.topics for row in topic.partitions):
            error = self.errors.get(asked.partition_index) or self._fence(asked.current_leader_epoch)
            log = self.logs[asked.partition_index]
            offset = log.log_end_offset if asked.timestamp == -1 else log.log_start_offset
            rows.append(
                ListOffsetsResponse.ListOffsetsPartitionResponse(
                    asked.partition_index, error, offset=-1 if error else offset
                )
            )
        return ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse(TOPIC, rows)])

    def _fence(self, known_epoch: int) -> ErrorCode:
        if known_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if known_epoch > self.leader_epoch else ErrorCode.NONE
