"""Handlers of groups over a coordinator in memory, and the requests that several tests make."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kcompat.cluster.image import ClusterImage, PartitionInfo, TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.controller.values import TopicResult
from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcompat.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.security.authorizer import AllowEverything
from support.asking import Finalized, ask, services_of
from support.default_settings import with_defaults
from support.group_coordinators import GroupFixture, KnownEnds
from support.share_coordinators import ShareCoordinatorFixture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.controller.values import TopicSpec
    from kcompat.group.kinds.share.groups import ShareGroups
    from kcompat.protocol.message import Message
    from kcompat.security.authorizer import Authorizer


ONE, TWO, STRANGE = b"1" * 16, b"2" * 16, b"?" * 16
LEADS = PartitionInfo(leader=1, leader_epoch=0, isr=(1,), replicas=(1,))
IMAGE = ClusterImage("cluster").with_topics(
    [TopicImage("t1", ONE, {0: LEADS, 1: LEADS}), TopicImage("t2", TWO, {0: LEADS})]
)


class GroupHandlers:
    """Handlers over a group coordinator in memory; every message passes through its bytes."""

    def __init__(self, **config: Any) -> None:
        """`config` are settings of the coordinator."""
        self.cluster = MetadataCache("cluster")
        self.cluster.update(IMAGE)
        self.shares = ShareCoordinatorFixture()
        self.shares.topics = {ONE: 2, TWO: 1}
        self.ends = KnownEnds()
        self.topics_to_make: list[TopicSpec] = []
        """The internal topics of streams applications that the controller was asked for."""
        self.refusal: str | None = None
        """Why it makes none; None while it does not answer."""
        self.fixture = GroupFixture(
            with_defaults(GroupCoordinatorConfig, **config), self.shares.coordinator, self.ends, self._make
        )
        self.fixture.image = IMAGE
        self.authorizer: Authorizer = AllowEverything()
        self.features = Finalized(group_version=1, share_version=1, streams_version=1)

    @property
    def share_groups(self) -> ShareGroups:
        """The share groups of the coordinator."""
        return self.fixture.coordinator.share

    def _make(self, specs: Sequence[TopicSpec]) -> Promise[list[TopicResult]]:
        self.topics_to_make += specs
        if self.refusal is None:
            return Promise()
        error = ErrorCode.POLICY_VIOLATION
        return Promise.resolved([TopicResult(spec.name, error, self.refusal) for spec in specs])

    def ask(self, request: Message, version: int, client_id: str | None = "app") -> Any:
        """The answer, or a promise of it."""
        key = ApiKey(request.api_key)
        module = importlib.import_module(f"kcompat.api.{key.name.lower()}")
        services = services_of(
            groups=self.fixture.coordinator,
            metadata=self.cluster,
            authorizer=self.authorizer,
            features=self.features,
        )
        return ask(module, version, request, services, client_id=client_id)

    def member(self, group_id: str = "g") -> str:
        """Bring a group to Stable with one member and give its id."""
        member_id: str = self.ask(join(group_id), 3).member_id
        self.ask(sync(group_id, member_id, 1, {member_id: b"all"}), 4)
        return member_id


def settle_sharer(broker: GroupHandlers, *topics: str) -> None:
    """Bring a member `m` into the share group `g`, and give it all of these topics."""
    beat = ShareGroupHeartbeatRequest
    epoch = broker.ask(beat("g", "m", 0, "r", list(topics)), 1).member_epoch
    for _ in range(2):
        broker.fixture.clock.advance(1_000)
        epoch = broker.ask(beat("g", "m", epoch), 1).member_epoch


def streaming(epoch: int = 0, *topics: str, **fields: Any) -> StreamsGroupHeartbeatRequest:
    """A heartbeat of the member `m` of the streams group `g`; with epoch 0 one that joins to read topics."""
    request = StreamsGroupHeartbeatRequest
    first: dict[str, Any] = {
        "rebalance_timeout_ms": 60_000,
        "topology": request.Topology(0, [request.Subtopology("0", list(topics))]),
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": "p",
    }
    wanted = {"group_id": "g", "member_id": "m", "member_epoch": epoch}
    return request(**{**wanted, **({} if epoch else first), **fields})


def join(group_id: str = "g", member_id: str = "", **fields: Any) -> JoinGroupRequest:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"meta")
    return JoinGroupRequest(
        **{
            "group_id": group_id,
            "member_id": member_id,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": [protocol],
            **fields,
        }
    )


def sync(
    group_id: str, member_id: str, generation: int, assignments: dict[str, bytes] | None = None, **fields: Any
) -> SyncGroupRequest:
    rows = [
        SyncGroupRequest.SyncGroupRequestAssignment(member_id=member, assignment=assignment)
        for member, assignment in (assignments or {}).items()
    ]
    return SyncGroupRequest(
        group_id=group_id, member_id=member_id, generation_id=generation, assignments=rows, **fields
    )


def commit(
    offsets: dict[tuple[str | bytes, int], int], group_id: str = "g", **fields: Any
) -> OffsetCommitRequest:
    """Topics by name, or by id where the key is bytes; one row a topic."""
    topics: dict[str | bytes, Any] = {}
    for (topic, index), offset in offsets.items():
        named = {"topic_id": topic} if isinstance(topic, bytes) else {"name": topic}
        row = topics.setdefault(topic, OffsetCommitRequest.OffsetCommitRequestTopic(**named))
        row.partitions.append(
            OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        )
    return OffsetCommitRequest(group_id=group_id, topics=list(topics.values()), **fields)


def errors(answer: Any) -> dict[tuple[str | bytes, int], int]:
    """Error codes by topic (name or id) and partition, in the order of the answer."""
    return {
        (topic.name or topic.topic_id, row.partition_index): row.error_code
        for topic in answer.topics
        for row in topic.partitions
    }


def fetch(topics: dict[str, list[int]] | None, group_id: str = "g") -> OffsetFetchRequest:
    row = OffsetFetchRequest.OffsetFetchRequestTopic
    rows = None if topics is None else [row(name=n, partition_indexes=p) for n, p in topics.items()]
    return OffsetFetchRequest(group_id=group_id, topics=rows)


def fetch_groups(groups: dict[str, dict[str | bytes, list[int]] | None]) -> OffsetFetchRequest:
    def topic(name: str | bytes, indexes: list[int]) -> OffsetFetchRequest.OffsetFetchRequestTopics:
        named: dict[str, Any] = {"topic_id": name} if isinstance(name, bytes) else {"name": name}
        return OffsetFetchRequest.OffsetFetchRequestTopics(**named, partition_indexes=indexes)

    rows = [
        OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id=group_id,
            topics=None if topics is None else [topic(name, indexes) for name, indexes in topics.items()],
        )
        for group_id, topics in groups.items()
    ]
    return OffsetFetchRequest(groups=rows)


def offsets(answer: Any) -> dict[tuple[str | bytes, int], tuple[int, int]]:
    """Offset and error by topic and partition."""
    return {
        (topic.name or topic.topic_id, row.partition_index): (row.committed_offset, row.error_code)
        for topic in answer.topics
        for row in topic.partitions
    }
