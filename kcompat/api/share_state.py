"""Rules that the five APIs of the share coordinator have in common: rows about share partitions.

Only brokers may send the requests (CLUSTER_ACTION). A request without a group, without rows, or with a topic
without rows gets an empty response. Rows of the response are grouped by topic; if two rows name one share
partition, the last one counts.
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
    """The functions that make the rows of one API's response."""

    refused: Callable[[ErrorCode, str], AnswerT]
    """Function that makes the result for a client that is not authorized."""
    row: Callable[[int, AnswerT], WrittenT]
    """Function that makes the response row of a partition."""
    topic: Callable[[bytes, list[WrittenT]], TopicT]
    """Function that makes the response row of a topic from the topic's id."""


def answer_each(
    context: RequestContext,
    request: _Request[RowT],
    ask: Callable[[SharePartitionKey, RowT], Promise[AnswerT]],
    wording: Wording[AnswerT, WrittenT, TopicT],
    *,
    skips_empty_topics: bool = False,
) -> Promise[list[TopicT]]:
    """Call `ask` for each row; promise the response rows, grouped by topic."""
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
    requested = gather([ask(key, rows[key.topic_id][key.partition]) for key in keys])
    return requested.map(lambda answers: _written(keys, answers, wording))


def _written(
    keys: Sequence[SharePartitionKey],
    answers: Sequence[AnswerT],
    wording: Wording[AnswerT, WrittenT, TopicT],
) -> list[TopicT]:
    topics: dict[bytes, list[WrittenT]] = {}
    for key, answer in zip(keys, answers, strict=True):
        topics.setdefault(key.topic_id, []).append(wording.row(key.partition, answer))
    return [wording.topic(topic_id, written) for topic_id, written in topics.items()]
