"""DeleteTopics (key 20), versions 0-6.

Behaviour
- Each topic succeeds or fails by itself; one that is named twice, by name or id, fails and is kept.
- The answer comes when the logs and everything the cluster knew of the topics are gone; REQUEST_TIMED_OUT
  where logs could not be deleted, and at once for a timeout of 0 or less, which deletes nothing, as in Kafka
  3.9.
- With `delete.topic.enable` false every topic gets TOPIC_DELETION_DISABLED.

Version notes
- 0-2: INVALID_REQUEST stands for TOPIC_DELETION_DISABLED. 5: error messages. 6: by name or id, not both
  (KIP-516).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kcompat.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.api.context import RequestContext
    from kcompat.cluster.image import ClusterImage
    from kcompat.replication.controller.values import Outcome

FIRST_WITH_DELETION_DISABLED = 3
FIRST_WITH_TOPIC_IDS = 6

Question = DeleteTopicsRequest.DeleteTopicState
Answer = DeleteTopicsResponse.DeletableTopicResult


def handle(
    context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse | Promise[DeleteTopicsResponse]:
    """Delete the topics and answer once they are gone."""
    asked = request.topics
    if context.api_version < FIRST_WITH_TOPIC_IDS:
        asked = [Question(name=name) for name in request.topic_names]
    if not context.services.config.delete_topic_enable:
        return _all(asked, _deletion_disabled(context.api_version))
    if request.timeout_ms <= 0:
        return _all(asked, ErrorCode.REQUEST_TIMED_OUT)
    rows, ids = _resolve(asked, context.services.cluster.image)
    names = [row.name for row in rows if row.error_code == ErrorCode.NONE and row.name is not None]
    if not names:
        return DeleteTopicsResponse(responses=rows)
    answer: Promise[DeleteTopicsResponse] = Promise()

    def deleted(outcomes: Mapping[str, Outcome]) -> None:
        for row in rows:
            if row.error_code == ErrorCode.NONE and row.name is not None:
                row.error_code, row.error_message = outcomes[row.name].error, outcomes[row.name].message
                row.topic_id = ids[row.name]
        answer.complete(DeleteTopicsResponse(responses=rows))

    context.services.controller.delete_topics(names).then(deleted)
    return answer


def _deletion_disabled(version: int) -> ErrorCode:
    if version < FIRST_WITH_DELETION_DISABLED:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.TOPIC_DELETION_DISABLED


def _all(asked: Sequence[Question], error: ErrorCode) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[Answer(name=row.name, topic_id=row.topic_id, error_code=error) for row in asked]
    )


def _resolve(asked: Sequence[Question], image: ClusterImage) -> tuple[list[Answer], dict[str, bytes]]:
    """One row a topic, with its error if it has one already, and the ids of those to delete by name."""
    names = Counter(row.name for row in asked)
    ids = Counter(row.topic_id for row in asked)
    rows: dict[tuple[str | None, bytes], Answer] = {}
    found: dict[str, bytes] = {}
    for row in asked:
        known = image.topics.get(row.name) if row.name is not None else image.topic_by_id(row.topic_id)
        problem = _problem(row, names, ids, image)
        if problem is not None:
            answer = Answer(
                name=row.name, topic_id=row.topic_id, error_code=problem[0], error_message=problem[1]
            )
        elif known is None:
            error = ErrorCode.UNKNOWN_TOPIC_ID if row.name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            answer = Answer(
                name=row.name, topic_id=row.topic_id, error_code=error, error_message=error.message
            )
        else:
            found[known.name] = known.topic_id
            answer = Answer(name=known.name, topic_id=known.topic_id)
        rows[row.name, row.topic_id] = answer
    return list(rows.values()), found


def _problem(
    row: Question, names: Counter[str | None], ids: Counter[bytes], image: ClusterImage
) -> tuple[ErrorCode, str] | None:
    """What is wrong with a row whatever topic it means."""
    problem = None
    if row.name is not None and row.topic_id != ZERO_UUID:
        problem = "You may not specify both topic name and topic id."
    elif row.name is None and row.topic_id == ZERO_UUID:
        problem = "Neither topic name nor id were specified."
    elif row.name is None:
        topic = image.topic_by_id(row.topic_id)
        if ids[row.topic_id] > 1:
            problem = "Duplicate topic id."
        elif topic is not None and names[topic.name]:
            problem = "The provided topic name maps to an ID that was already supplied."
    else:
        topic = image.topics.get(row.name)
        if names[row.name] > 1:
            problem = "Duplicate topic name."
        elif topic is not None and ids[topic.topic_id]:
            problem = "The provided topic name maps to an ID that was already supplied."
    return None if problem is None else (ErrorCode.INVALID_REQUEST, problem)
