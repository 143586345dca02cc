"""What is asked of streams groups and what they answer, free of protocol versions."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from kcompat.group.kinds.streams.tasks import Tasks
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.group.kinds.streams.configured import InternalTopic, Status
    from kcompat.group.kinds.streams.member import Endpoint
    from kcompat.group.kinds.streams.roster import StreamsState
    from kcompat.group.kinds.streams.tasks import HeldTasks
    from kcompat.group.kinds.streams.topology import Topology

_NO_TOPICS: Mapping[str, InternalTopic] = MappingProxyType({})


class StreamsHeartbeatRequest(Struct, frozen=True):
    """A member says that it is there, what it has and what it is; None for what has not changed."""

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    endpoint_epoch: int = 0
    """What it knows of endpoints."""
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active: Mapping[str, frozenset[int]] | None = None
    standby: Mapping[str, frozenset[int]] | None = None
    warmup: Mapping[str, frozenset[int]] | None = None
    process_id: str | None = None
    endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] | None = None
    wants_shutdown: bool = False
    tells_offsets: bool = False
    """Whether it says where its tasks are in their changelogs."""
    tells_end_offsets: bool = False

    @property
    def owned(self) -> Tasks | None:
        """The tasks that it has; None where it does not say all of them."""
        if self.active is None or self.standby is None or self.warmup is None:
            return None
        return Tasks(self.active, self.standby, self.warmup)


class EndpointPartitions(NamedTuple):
    """What can be asked at an endpoint: partitions by topic."""

    endpoint: Endpoint
    active: Mapping[str, tuple[int, ...]]
    standby: Mapping[str, tuple[int, ...]]


class StreamsHeartbeatAnswer(Struct, frozen=True):
    """What a member is told: `tasks` and `endpoints` where they are news to it. `missing` are topics that
    have to be made.
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
    """A topic of the application's own, as it is to be or is."""

    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...]


class DescribedSubtopology(Struct, frozen=True):
    """A subtopology as StreamsGroupDescribe shows it: names in order."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[DescribedTopic, ...]
    repartition_source_topics: tuple[DescribedTopic, ...]

    def topics(self) -> frozenset[str]:
        """All topics that are named."""
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
    endpoint: Endpoint | None
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
