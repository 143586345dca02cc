"""StreamsGroupHeartbeat (key 88), version 0: join, stay in, or leave a streams group (KIP-1071).

Behaviour
- A member joins with epoch 0 and the topology of its application, and gets its tasks as they become free.
  Later requests and responses carry only changes. Epoch -1 leaves the group.
- Internal topics that the topology needs are created; a status tells the member while they are missing. A
  client without CREATE gets a status that says so. The client needs DESCRIBE on all named topics.
- Static members, patterns of source topics, warm-up tasks and offsets of tasks are refused, as in Kafka 4.3.
- A cluster without streams groups answers UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.group_protocols import serves_streams_groups
from kcompat.group.kinds.streams.configured import Status, StatusCode
from kcompat.group.kinds.streams.member import UserEndpoint
from kcompat.group.kinds.streams.records import topology_of
from kcompat.group.kinds.streams.requests import StreamsHeartbeatRequest
from kcompat.group.kinds.streams.tasks import task_sets
from kcompat.group.kinds.table import STREAMS_KIND
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kcompat.security.authorizer import CLUSTER, Purpose, Resource
from kcompat.security.operations import Operation
from kcompat.topics import is_internal, name_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.api.context import RequestContext
    from kcompat.group.kinds.streams.requests import EndpointPartitions, StreamsHeartbeatAnswer
    from kcompat.promise import Promise

SHOWN_FAILURES = 3
"""Largest number of failed topics in a status."""

_Response = StreamsGroupHeartbeatResponse
_Row = StreamsGroupHeartbeatResponse.TaskIds


def handle(
    context: RequestContext, request: StreamsGroupHeartbeatRequest
) -> StreamsGroupHeartbeatResponse | Promise[StreamsGroupHeartbeatResponse]:
    """Process a member's heartbeat, create missing internal topics, and return the member's tasks."""
    if not serves_streams_groups(context.services):
        return _Response(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return _Response(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if request.topology is not None:
        refused = _refused_topics(context, _named_topics(request.topology))
        if refused is not None:
            return refused

    def response(answer: StreamsHeartbeatAnswer) -> StreamsGroupHeartbeatResponse:
        return _response(answer, _make_topics(context, answer))

    context.services.coordinators.groups.note_request(context.connection, request.group_id, request.member_id)
    return context.services.coordinators.groups.modern_heartbeat(
        STREAMS_KIND, _heartbeat(context, request)
    ).map(response)


# --- topics that a topology names


def _named_topics(topology: StreamsGroupHeartbeatRequest.Topology) -> list[str]:
    names = [
        name
        for each in topology.subtopologies
        for name in (
            *each.source_topics,
            *each.repartition_sink_topics,
            *(topic.name for topic in each.repartition_source_topics),
            *(topic.name for topic in each.state_changelog_topics),
        )
    ]
    return list(dict.fromkeys(names))


def _refused_topics(context: RequestContext, names: list[str]) -> StreamsGroupHeartbeatResponse | None:
    internal = [name for name in names if is_internal(name)]
    if internal:
        return _Response(
            error_code=ErrorCode.STREAMS_INVALID_TOPOLOGY,
            error_message=f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is "
            "prohibited.",
        )
    invalid = [name for name in names if name_problem(name) is not None]
    if invalid:
        return _Response(
            error_code=ErrorCode.STREAMS_INVALID_TOPOLOGY,
            error_message=f"Topic names {','.join(invalid)} are not valid topic names.",
        )
    if not all(context.may(Operation.DESCRIBE, Resource.topic(name)) for name in names):
        return _Response(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return None


def _make_topics(context: RequestContext, answer: StreamsHeartbeatAnswer) -> tuple[Status, ...]:
    """Create the missing topics that the client may create; return the statuses, with the errors of the
    creation.
    """
    names = answer.missing
    if not names:
        return answer.statuses
    if not context.may(Operation.CREATE, CLUSTER, Purpose.FILTER):
        denied = [name for name in names if not context.may(Operation.CREATE, Resource.topic(name))]
        if denied:
            return _with_detail(answer.statuses, f"; Unauthorized to CREATE on topics {', '.join(denied)}.")
    topics = context.services.coordinators.groups.internal_topics
    topics.make(names, 2 * answer.heartbeat_interval_ms)
    failures = list(topics.failures(names).items())
    if not failures:
        return answer.statuses
    shown = ", ".join(f"{name} ({reason})" for name, reason in failures[:SHOWN_FAILURES])
    more = len(failures) - SHOWN_FAILURES
    rest = f" and {more} more" if more > 0 else ""
    return _with_detail(answer.statuses, f"; Creation failed: {shown}{rest}.")


def _with_detail(statuses: Iterable[Status], more: str) -> tuple[Status, ...]:
    """Return the statuses, with `more` appended to the detail of MISSING_INTERNAL_TOPICS."""
    return tuple(
        Status(status.code, status.detail + more)
        if status.code is StatusCode.MISSING_INTERNAL_TOPICS
        else status
        for status in statuses
    )


# --- the request of a member


def _heartbeat(context: RequestContext, request: StreamsGroupHeartbeatRequest) -> StreamsHeartbeatRequest:
    endpoint, tags = request.user_endpoint, request.client_tags
    return StreamsHeartbeatRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",
        endpoint_epoch=request.endpoint_information_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topology=None if request.topology is None else topology_of(request.topology),
        active=_tasks(request.active_tasks),
        standby=_tasks(request.standby_tasks),
        warmup=_tasks(request.warmup_tasks),
        process_id=request.process_id,
        endpoint=None if endpoint is None else UserEndpoint(endpoint.host, endpoint.port),
        client_tags=None if tags is None else {tag.key: tag.value for tag in tags},
        wants_shutdown=request.shutdown_application,
        tells_offsets=request.task_offsets is not None,
        tells_end_offsets=request.task_end_offsets is not None,
    )


def _tasks(
    rows: Iterable[StreamsGroupHeartbeatRequest.TaskIds] | None,
) -> Mapping[str, frozenset[int]] | None:
    return None if rows is None else task_sets((row.subtopology_id, row.partitions) for row in rows)


# --- the response to it


def _response(answer: StreamsHeartbeatAnswer, statuses: Iterable[Status]) -> StreamsGroupHeartbeatResponse:
    tasks, endpoints = answer.tasks, answer.endpoints
    return _Response(
        error_code=answer.error,
        error_message=answer.message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        status=[_Response.Status(status.code, status.detail) for status in statuses],
        active_tasks=None if tasks is None else _rows(tasks.active),
        standby_tasks=None if tasks is None else _rows(tasks.standby),
        warmup_tasks=None if tasks is None else _rows(tasks.warmup),
        endpoint_information_epoch=answer.endpoint_epoch,
        partitions_by_user_endpoint=None if endpoints is None else [_endpoint(each) for each in endpoints],
    )


def _rows(tasks: Mapping[str, Iterable[int]]) -> list[_Row]:
    return [_Row(subtopology, sorted(tasks[subtopology])) for subtopology in sorted(tasks)]


def _endpoint(row: EndpointPartitions) -> StreamsGroupHeartbeatResponse.EndpointToPartitions:
    return _Response.EndpointToPartitions(
        _Response.Endpoint(*row.endpoint),
        [_Response.TopicPartition(name, list(indexes)) for name, indexes in row.active.items()],
        [_Response.TopicPartition(name, list(indexes)) for name, indexes in row.standby.items()],
    )
