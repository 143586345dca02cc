"""The frame of the five APIs of the share coordinator: rows about share partitions, handled one by one.

The APIs are for brokers alone (CLUSTER_ACTION). A request without a group, without rows, or with a topic
without rows gets an empty response. Rows come back by topic; of two rows with one key the last counts.
"""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - the fields of a tuple
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from kcompat.share.key import SharePartitionKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.api.context import RequestContext


class _Row(Protocol):
    partition: int


RowT = TypeVar("RowT", bound=_Row)
AnswerT = TypeVar("AnswerT")


class _Topic(Protocol[RowT]):
    topic_id: bytes
    partitions: list[RowT]


class _Request(Protocol[RowT]):
    group_id: str

    @property
    def topics(self) -> Sequence[_Topic[RowT]]: ...


TopicT = TypeVar("TopicT")
WrittenT = TypeVar("WrittenT")


class Wording(NamedTuple, Generic[AnswerT, WrittenT, TopicT]):
    """How an API writes its answers down."""

    refused: Callable[[ErrorCode, str], AnswerT]
    """Makes the answer to a row of a client that is not authorized."""
    row: Callable[[int, AnswerT], WrittenT]
    """Makes the row of a partition in the response."""
    topic: Callable[[bytes, list[WrittenT]], TopicT]
    """Makes the row of a topic in the response, by the topic's id."""


def answer_each(
    context: RequestContext,
    request: _Request[RowT],
    ask: Callable[[SharePartitionKey, RowT], Promise[AnswerT]],
    wording: Wording[AnswerT, WrittenT, TopicT],
    *,
    skips_empty_topics: bool = False,
) -> Promise[list[TopicT]]:
    """Ask the coordinator about each row."""
    rows: dict[bytes, dict[int, RowT]] = {}
    for topic in request.topics:
        rows.setdefault(topic.topic_id, {}).update((row.partition, row) for row in topic.partitions)
    keys = [
        SharePartitionKey(request.group_id, topic_id, index)
        for topic_id, of_topic in rows.items()
        for index in of_topic
    ]
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return Promise.resolved(_written(keys, [wording.refused(error, error.message)] * len(keys), wording))
    is_empty = any(not topic.partitions for topic in request.topics) and not skips_empty_topics
    if is_empty or not request.group_id:
        return Promise.resolved([])
    asked = gather([ask(key, rows[key.topic_id][key.partition]) for key in keys])
    return asked.map(lambda answers: _written(keys, answers, wording))


def _written(
    keys: Sequence[SharePartitionKey],
    answers: Sequence[AnswerT],
    wording: Wording[AnswerT, WrittenT, TopicT],
) -> list[TopicT]:
    topics: dict[bytes, list[WrittenT]] = {}
    for key, answer in zip(keys, answers, strict=True):
        topics.setdefault(key.topic_id, []).append(wording.row(key.partition, answer))
    return [wording.topic(topic_id, written) for topic_id, written in topics.items()]
