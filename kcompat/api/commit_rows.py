"""The rows of OffsetCommit and TxnOffsetCommit: the check of each partition, and its row in the response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.api.failures import note_member
from kcompat.api.topic_access import may_use_topic
from kcompat.group.requests import OffsetToCommit
from kcompat.protocol.errors import ErrorCode
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kcompat.api.context import RequestContext
    from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
    from kcompat.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest


class CommitRows:
    """The rows of one commit: refused partitions with their errors, and the other partitions as `offsets`."""

    def __init__(
        self,
        context: RequestContext,
        request: OffsetCommitRequest | TxnOffsetCommitRequest,
        answers: tuple[type, type],
        *,
        by_id: bool,
    ) -> None:
        """Check the partitions of a request.

        `answers` has the response classes of a topic and a partition. `by_id` says whether the request names
        topics by their ids.
        """
        self._context, self._request = context, request
        self._topic_answer, self._partition_answer = answers
        self._refused: list[tuple[Any, Any]] = []
        self._taken: list[tuple[Any, Any]] = []
        self.offsets: list[OffsetToCommit] = []
        for topic in request.topics:
            name = _name(context, topic.topic_id) if by_id else topic.name
            error = _error(context, name)
            for partition in topic.partitions:
                self._take(context, topic, name, partition, error)

    def _take(
        self, context: RequestContext, topic: Any, name: str | None, partition: Any, error: ErrorCode
    ) -> None:
        index = partition.partition_index
        if (
            name is not None
            and not error
            and context.services.cluster.metadata.image.partition(name, index) is None
        ):
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        row = self._partition_answer(partition_index=index, error_code=error)
        if name is None or error:
            self._refused.append((topic, row))
            return
        self._taken.append((topic, row))
        self.offsets.append(
            OffsetToCommit(
                name,
                index,
                partition.committed_offset,
                partition.committed_leader_epoch,
                partition.committed_metadata,
                getattr(partition, "commit_timestamp", -1),
            )
        )

    def settle(
        self, errors: dict[tuple[str, int], ErrorCode], translate: Callable[[ErrorCode], ErrorCode]
    ) -> list[Any]:
        """Return the response rows with the error of each of `offsets`. `translate` gives the error for the
        client's version. A fenced member gets a line in the log.
        """
        if ErrorCode.FENCED_INSTANCE_ID in errors.values():
            note_member(self._context, self._request, ErrorCode.FENCED_INSTANCE_ID)
        for offset, (_, row) in zip(self.offsets, self._taken, strict=True):
            row.error_code = translate(errors[offset.topic, offset.partition])
        return self.answers()

    def answers(self) -> list[Any]:
        """Return the rows grouped by topic. Refused partitions come first, as on a Kafka broker."""
        return self._by_topic([*self._refused, *self._taken])

    def _by_topic(self, rows: Iterable[tuple[Any, Any]]) -> list[Any]:
        topics: dict[tuple[str, bytes], Any] = {}
        for topic, row in rows:
            key = (topic.name, topic.topic_id)
            if key not in topics:
                topics[key] = self._topic_answer(name=topic.name, topic_id=topic.topic_id)
            topics[key].partitions.append(row)
        return list(topics.values())


def refuse_all(topics: Sequence[Any], answers: tuple[type, type], error: ErrorCode) -> list[Any]:
    """Return a row for every requested partition, each with the error of the whole request."""
    topic_answer, partition_answer = answers
    return [
        topic_answer(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[partition_answer(row.partition_index, error) for row in topic.partitions],
        )
        for topic in topics
    ]


def _name(context: RequestContext, topic_id: bytes) -> str | None:
    """Return the name of a topic, or None if no topic has the id."""
    image = context.services.cluster.metadata.image.topic_by_id(topic_id)
    return None if image is None else image.name


def _error(context: RequestContext, name: str | None) -> ErrorCode:
    """Return the error for all partitions of a topic, or NONE."""
    if name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not may_use_topic(context, Operation.READ, name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE
