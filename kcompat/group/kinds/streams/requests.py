"""Requests to streams groups and their responses, independent of protocol versions."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from kcompat.group.kinds.streams.tasks import Tasks
from kcompat.group.modern.heartbeat import JOIN, LEAVE_FOR_A_WHILE, Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.kinds.streams.configured import InternalTopic, Status
    from kcompat.group.kinds.streams.member import UserEndpoint
    from kcompat.group.kinds.streams.members import StreamsState
    from kcompat.group.kinds.streams.tasks import HeldTasks
    from kcompat.group.kinds.streams.topology import Topology

_NO_TOPICS: Mapping[str, InternalTopic] = MappingProxyType({})


class StreamsHeartbeatRequest(Struct, frozen=True):
    """Heartbeat of a member, with its fields and tasks; None for fields that have not changed."""

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    endpoint_epoch: int = 0
    """Epoch of the endpoints that the member knows."""
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active: Mapping[str, frozenset[int]] | None = None
    standby: Mapping[str, frozenset[int]] | None = None
    warmup: Mapping[str, frozenset[int]] | None = None
    process_id: str | None = None
    endpoint: UserEndpoint | None = None
    client_tags: Mapping[str, str] | None = None
    wants_shutdown: bool = False
    tells_offsets: bool = False
    """Whether the request has the changelog offsets of the member's tasks."""
    tells_end_offsets: bool = False

    @property
    def owned(self) -> Tasks | None:
        """Tasks that the member has; None if the request does not report all of them."""
        if self.active is None or self.standby is None or self.warmup is None:
            return None
        return Tasks(self.active, self.standby, self.warmup)


class EndpointPartitions(NamedTuple):
    """Partitions whose state can be queried at an endpoint, by topic."""

    endpoint: UserEndpoint
    active: Mapping[str, tuple[int, ...]]
    standby: Mapping[str, tuple[int, ...]]


class StreamsHeartbeatAnswer(Struct, frozen=True):
    """Response to a heartbeat; `tasks` and `endpoints` are set only if they have changed for the member.

    `missing` are the internal topics that have to be created.
    """

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    statuses: tuple[Status, ...] = ()
    tasks: HeldTasks | None = None
    endpoint_epoch: int = 0
    endpoints: tuple[EndpointPartitions, ...] | None = None
    missing: Mapping[str, InternalTopic] = _NO_TOPICS


class DescribedTopic(Struct, frozen=True):
    """Internal topic of an application, existing or to be created."""

    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...]


class DescribedSubtopology(Struct, frozen=True):
    """Subtopology as StreamsGroupDescribe shows it; names are sorted."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[DescribedTopic, ...]
    repartition_source_topics: tuple[DescribedTopic, ...]

    def topics(self) -> frozenset[str]:
        """Return all topics of the subtopology."""
        own = (*self.state_changelog_topics, *self.repartition_source_topics)
        return frozenset((*self.source_topics, *self.repartition_sink_topics, *(topic.name for topic in own)))


class DescribedTopology(Struct, frozen=True):
    """A topology as StreamsGroupDescribe shows it."""

    epoch: int
    subtopologies: tuple[DescribedSubtopology, ...]


class DescribedStreamsMember(Struct, frozen=True):
    """A member as StreamsGroupDescribe shows it."""

    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    endpoint: UserEndpoint | None
    client_tags: Mapping[str, str]
    assigned: HeldTasks
    target: Tasks


class DescribedStreamsGroup(Struct, frozen=True):
    """A group as StreamsGroupDescribe shows it."""

    group_id: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state: StreamsState | None = None
    group_epoch: int = 0
    assignment_epoch: int = 0
    topology: DescribedTopology | None = None
    members: tuple[DescribedStreamsMember, ...] = ()


def request_refusal(request: StreamsHeartbeatRequest, _config: GroupCoordinatorConfig) -> Refusal | None:
    """Return the first error that does not depend on the state of the group, with Kafka's order of checks;
    None without one.
    """
    message = _what_is_not_supported(request) or _what_is_empty(request)
    if message is None and request.member_epoch == JOIN:
        message = _what_a_joining_member_lacks(request)
        wrong = None if request.topology is None else _wrong_changelog(request.topology)
        if message is None and wrong is not None:
            return Refusal(ErrorCode.STREAMS_INVALID_TOPOLOGY, wrong)
    message = message or _what_is_wrong(request)
    return None if message is None else Refusal(ErrorCode.INVALID_REQUEST, message)


def _what_is_not_supported(request: StreamsHeartbeatRequest) -> str | None:
    topology = request.topology
    patterns = topology is not None and any(
        each.source_topic_regex for each in topology.subtopologies.values()
    )
    for is_wanted, message in (
        (request.instance_id is not None, "Static membership is not yet supported."),
        (request.tells_offsets, "TaskOffsets are not supported yet."),
        (request.tells_end_offsets, "TaskEndOffsets are not supported yet."),
        (bool(request.warmup), "WarmupTasks are not supported yet."),
        (patterns, "Regular expressions for source topics are not supported yet."),
    ):
        if is_wanted:
            return message
    return None


def _what_is_empty(request: StreamsHeartbeatRequest) -> str | None:
    for name, value in (
        ("MemberId", request.member_id),
        ("GroupId", request.group_id),
        ("RackId", request.rack_id),
    ):
        if value is not None and not value.strip():
            return f"{name} can't be empty."
    return None


def _what_a_joining_member_lacks(request: StreamsHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs must be provided in first request."
    for name, tasks in (
        ("ActiveTasks", request.active),
        ("StandbyTasks", request.standby),
        ("WarmupTasks", request.warmup),
    ):
        if tasks is None or tasks:
            return f"{name} must be empty when (re-)joining."
    return "Topology must be non-null when (re-)joining." if request.topology is None else None


def _wrong_changelog(topology: Topology) -> str | None:
    for subtopology in topology.subtopologies.values():
        for topic in subtopology.state_changelog_topics:
            if topic.partitions:
                return (
                    f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                    f"{topic.partitions}."
                )
    return None


def _what_is_wrong(request: StreamsHeartbeatRequest) -> str | None:
    if request.member_epoch == LEAVE_FOR_A_WHILE:
        return "InstanceId can't be null."
    if request.member_epoch < LEAVE_FOR_A_WHILE:
        return f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2."
    roles = (request.active, request.standby, request.warmup)
    if any(tasks is None for tasks in roles) and any(tasks is not None for tasks in roles):
        return "If one task-type is non-null, all must be non-null."
    if request.member_epoch != JOIN and request.topology is not None:
        return "Topology can only be provided when (re-)joining."
    return None
