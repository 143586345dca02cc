"""DeleteTopics (key 20), versions 0-6.

Behaviour
- Each topic succeeds or fails by itself. A topic that is named twice, by name or id, fails.
- The response is sent when the logs and the metadata of the topics are deleted. Topics whose logs could not
  be deleted get REQUEST_TIMED_OUT. A timeout of 0 or less deletes nothing and gets REQUEST_TIMED_OUT at once,
  as in Kafka 3.9.
- With `delete.topic.enable=false` every topic gets TOPIC_DELETION_DISABLED.
- The partitions count against the client's `controller_mutation_rate` (KIP-599).

Version notes
- 0-2: INVALID_REQUEST replaces TOPIC_DELETION_DISABLED. 5: error messages, THROTTLING_QUOTA_EXCEEDED.
- 6: topics by name or by id, not both (KIP-516).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kcompat.api.mutations import Mutations
from kcompat.cluster.image import ClusterImage
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.security.authorizer import CLUSTER, Purpose, Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.api.context import RequestContext
    from kcompat.cluster.image import TopicImage
    from kcompat.controller.values import TopicOutcome
    from kcompat.promise import Promise

FIRST_WITH_DELETION_DISABLED = 3
FIRST_WITH_STRICT_QUOTA = 5
FIRST_WITH_TOPIC_IDS = 6

RequestedTopic = DeleteTopicsRequest.DeleteTopicState
Answer = DeleteTopicsResponse.DeletableTopicResult

_TWICE = "The provided topic name maps to an ID that was already supplied."


def handle(
    context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse | Promise[DeleteTopicsResponse]:
    """Delete the topics, and answer once they are deleted."""
    requested = request.topics
    if context.api_version < FIRST_WITH_TOPIC_IDS:
        requested = [RequestedTopic(name=name) for name in request.topic_names]
    if not context.services.server.config.delete_topic_enable:
        return _all(requested, _deletion_disabled(context.api_version))
    if request.timeout_ms <= 0:
        return DeleteTopicsResponse(responses=_too_late(requested))
    may_all = context.may(Operation.DELETE, CLUSTER, Purpose.FILTER)
    rows = _resolve(requested, context.services.cluster.metadata.image, None if may_all else context)
    mutations = Mutations(context, strict_since=FIRST_WITH_STRICT_QUOTA)
    _count(context, rows, mutations)
    names = [row.name for row in rows if row.error_code == ErrorCode.NONE and row.name is not None]
    if not names:
        return DeleteTopicsResponse(responses=rows)

    def deleted(outcomes: Mapping[str, TopicOutcome]) -> DeleteTopicsResponse:
        mutations.uncount(name for name in names if outcomes[name].error)
        for row in rows:
            if row.error_code == ErrorCode.NONE and row.name is not None:
                row.error_code, row.error_message = outcomes[row.name].error, outcomes[row.name].message
        return DeleteTopicsResponse(responses=rows)

    return context.services.cluster.decisions.delete_topics(names).map(deleted)


def _count(context: RequestContext, rows: Sequence[Answer], mutations: Mutations) -> None:
    """Count the partitions of the topics to delete; set the error of the topics that the quota refuses."""
    topics = context.services.cluster.metadata.image.topics
    for row in rows:
        topic = None if row.error_code or row.name is None else topics.get(row.name)
        if topic is not None and not mutations.count(topic.name, len(topic.partitions)):
            error = ErrorCode.THROTTLING_QUOTA_EXCEEDED
            row.error_code, row.error_message = error, error.message


def _deletion_disabled(version: int) -> ErrorCode:
    if version < FIRST_WITH_DELETION_DISABLED:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.TOPIC_DELETION_DISABLED


def _all(requested: Sequence[RequestedTopic], error: ErrorCode) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[Answer(name=row.name, topic_id=row.topic_id, error_code=error) for row in requested]
    )


def _too_late(requested: Sequence[RequestedTopic]) -> list[Answer]:
    """Return the rows of a request whose time limit is over: malformed entries get their error, and no row
    shows whether its topic exists.
    """
    rows = _resolve(requested, ClusterImage(""), None)
    for row in rows:
        if row.error_code != ErrorCode.INVALID_REQUEST:
            row.error_code, row.error_message = ErrorCode.REQUEST_TIMED_OUT, None
    return rows


def _resolve(
    requested: Sequence[RequestedTopic], image: ClusterImage, client: RequestContext | None
) -> list[Answer]:
    """Return a row for each topic, with its name and id if known, and its error if it is refused.

    `client` is the client whose authorization is checked; None skips the check.
    """
    names = Counter(row.name for row in requested)
    ids = Counter(row.topic_id for row in requested)
    rows: dict[tuple[str | None, bytes], Answer] = {}
    for row in requested:
        topic = image.topics.get(row.name) if row.name is not None else image.topic_by_id(row.topic_id)
        answer = _malformed(row, names, ids)
        if answer is None and client is not None:
            answer = _denied(client, row, topic)
        if answer is None:
            answer = _unknown(row) if topic is None else Answer(name=topic.name, topic_id=topic.topic_id)
            if (answer.name, answer.topic_id) in rows:  # requested by name and by id
                answer.error_code, answer.error_message = ErrorCode.INVALID_REQUEST, _TWICE
        rows[answer.name, answer.topic_id] = answer
    return list(rows.values())


def _malformed(row: RequestedTopic, names: Counter[str | None], ids: Counter[bytes]) -> Answer | None:
    """Return the row of a malformed entry of the request, or None. Whether the topic exists does not
    matter.
    """
    if row.name is not None and row.topic_id != ZERO_UUID:
        problem = "You may not specify both topic name and topic id."
    elif row.name is None and row.topic_id == ZERO_UUID:
        problem = "Neither topic name nor id were specified."
    elif row.name is not None and names[row.name] > 1:
        problem = "Duplicate topic name."
    elif row.name is None and ids[row.topic_id] > 1:
        problem = "Duplicate topic id."
    else:
        return None
    return Answer(
        name=row.name, topic_id=row.topic_id, error_code=ErrorCode.INVALID_REQUEST, error_message=problem
    )


def _denied(context: RequestContext, row: RequestedTopic, topic: TopicImage | None) -> Answer | None:
    """Return the row of a topic that the client may not delete, or None.

    A client that may not describe the topic must not learn the topic's name from its id, nor from a name
    whether the topic exists.
    """
    name = row.name if topic is None else topic.name
    if name is None:
        return None
    resource = Resource.topic(name)
    is_shown = context.may(Operation.DESCRIBE, resource)
    may_delete = topic is None or context.may(Operation.DELETE, resource)
    if may_delete and (is_shown or row.name is None):
        return None
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return Answer(
        name=name if is_shown else row.name,
        topic_id=row.topic_id,
        error_code=error,
        error_message=error.message,
    )


def _unknown(row: RequestedTopic) -> Answer:
    error = ErrorCode.UNKNOWN_TOPIC_ID if row.name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return Answer(name=row.name, topic_id=row.topic_id, error_code=error, error_message=error.message)
