"""The group APIs over every version, with the answers that Kafka 3.9.2 gave to the same requests."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.cluster.feed import MetadataCache
from kcompat.cluster.image import ClusterImage, PartitionInfo, TopicImage
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_groups import DeleteGroupsRequest
from kcompat.protocol.messages.describe_groups import DescribeGroupsRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.list_groups import ListGroupsRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.offset_delete import OffsetDeleteRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.security.authorizer import AllowEverything
from support.asking import ask, services_of
from support.group_world import PARTITIONS, GroupWorld

if TYPE_CHECKING:
    from kcompat.protocol.message import Message
    from kcompat.security.authorizer import Authorizer

ONE, TWO, STRANGE = b"1" * 16, b"2" * 16, b"?" * 16
LEADS = PartitionInfo(leader=1, leader_epoch=0, isr=(1,), replicas=(1,))
IMAGE = ClusterImage("cluster").with_topics(
    [TopicImage("t1", ONE, (LEADS, LEADS)), TopicImage("t2", TWO, (LEADS,))]
)


class Broker:
    """Handlers over a group coordinator in memory; every message passes through its bytes."""

    def __init__(self) -> None:
        self.world = GroupWorld()
        self.cluster = MetadataCache("cluster")
        self.cluster.update(IMAGE)
        self.authorizer: Authorizer = AllowEverything()

    def ask(self, request: Message, version: int, client_id: str | None = "app") -> Any:
        """The answer, or a promise of it."""
        key = ApiKey(request.api_key)
        module = importlib.import_module(f"kcompat.api.{key.name.lower()}")
        services = services_of(
            groups=self.world.coordinator, cluster=self.cluster, authorizer=self.authorizer
        )
        return ask(module, version, request, services, client_id=client_id)

    def member(self, group_id: str = "g") -> str:
        """Bring a group to Stable with one member and give its id."""
        member_id: str = self.ask(join(group_id), 3).member_id
        self.ask(sync(group_id, member_id, 1, {member_id: b"all"}), 4)
        return member_id


@pytest.fixture
def broker() -> Broker:
    return Broker()


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


# --- JoinGroup and SyncGroup


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_and_syncs_in_every_version(broker: Broker, version: int) -> None:
    joined = broker.ask(join(), version)
    if version >= 4:
        assert (joined.error_code, joined.generation_id) == (ErrorCode.MEMBER_ID_REQUIRED, -1)
        assert joined.protocol_name == (None if version >= 7 else "")
        joined = broker.ask(join(member_id=joined.member_id), version)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert joined.member_id == joined.leader == "app-1"
    assert joined.protocol_type == ("consumer" if version >= 7 else None)
    assert [(m.member_id, m.metadata) for m in joined.members] == [("app-1", b"meta")]
    sync_version = min(version, 5)
    named = {"protocol_type": "consumer", "protocol_name": "range"} if sync_version >= 5 else {}
    synced = broker.ask(sync("g", "app-1", 1, {"app-1": b"all"}, **named), sync_version)
    assert (synced.error_code, synced.assignment) == (0, b"all")
    assert synced.protocol_name == ("range" if sync_version >= 5 else None)


def test_a_static_member_joins_at_once(broker: Broker) -> None:
    joined = broker.ask(join(group_instance_id="i"), 9)
    assert (joined.error_code, joined.member_id) == (0, "i-1")
    assert joined.members[0].group_instance_id == "i"


def test_version_0_rebalances_within_the_session(broker: Broker) -> None:
    broker.ask(join(session_timeout_ms=20_000), 0)
    group = broker.world.group("g")
    assert group is not None
    assert group.members["app-1"].rebalance_timeout_ms == 20_000
    assert group.members["app-1"].client_host == "/10.0.0.7"


def test_a_join_that_waits_is_a_promise(broker: Broker) -> None:
    member = broker.member()
    waiting = broker.ask(join(), 3)
    assert isinstance(waiting, Promise)
    broker.ask(join(member_id=member), 3)
    assert waiting.value.generation_id == 2


def test_sync_5_must_name_the_protocol(broker: Broker) -> None:
    member = broker.member()
    assert broker.ask(sync("g", member, 1), 4).error_code == 0
    answer = broker.ask(sync("g", member, 1, protocol_type="consumer"), 5)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


# --- Heartbeat and LeaveGroup


@pytest.mark.parametrize("version", range(5))
def test_heartbeats(broker: Broker, version: int) -> None:
    member = broker.member()
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member)
    assert broker.ask(beat, version).error_code == 0
    beat.generation_id = 2
    assert broker.ask(beat, version).error_code == ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize("version", range(3))
def test_one_member_leaves_before_version_3(broker: Broker, version: int) -> None:
    member = broker.member()
    stranger = LeaveGroupRequest(group_id="g", member_id="x")
    assert broker.ask(stranger, version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert broker.ask(LeaveGroupRequest(group_id="g", member_id=member), version).error_code == 0
    assert broker.world.describe_state("g") == "Empty"


@pytest.mark.parametrize("version", range(3, 6))
def test_many_members_leave_from_version_3(broker: Broker, version: int) -> None:
    member = broker.member()
    identity = LeaveGroupRequest.MemberIdentity
    request = LeaveGroupRequest(
        group_id="g",
        members=[identity(member_id=member), identity(member_id="", group_instance_id="i")],
    )
    answer = broker.ask(request, version)
    assert answer.error_code == 0
    assert [(m.member_id, m.group_instance_id, m.error_code) for m in answer.members] == [
        (member, None, 0),
        ("", "i", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


# --- OffsetCommit


@pytest.mark.parametrize("version", range(10))
def test_commits_in_every_version(broker: Broker, version: int) -> None:
    asked = commit({("t1", 0): 5, ("t2", 0): 6, ("no", 0): 7, ("t1", 9): 7})
    answer = broker.ask(asked, version)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert errors(answer) == {("no", 0): unknown, ("t1", 9): unknown, ("t1", 0): 0, ("t2", 0): 0}
    assert [topic.name for topic in answer.topics] == ["t1", "no", "t2"]  # refused rows come first
    assert broker.world.fetch(group_id="g") == {("t1", 0): 5, ("t2", 0): 6}


def test_commits_by_topic_id(broker: Broker) -> None:
    answer = broker.ask(commit({(ONE, 0): 5, (STRANGE, 0): 6, (TWO, 7): 1}), 10)
    assert errors(answer) == {
        (STRANGE, 0): ErrorCode.UNKNOWN_TOPIC_ID,
        (TWO, 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (ONE, 0): 0,
    }
    assert broker.world.fetch(group_id="g") == {("t1", 0): 5}


@pytest.mark.parametrize(
    ("version", "error"), [(7, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_a_generation_of_an_absent_group(broker: Broker, version: int, error: ErrorCode) -> None:
    asked = commit({("t1", 0): 5}, generation_id_or_member_epoch=3, member_id="m")
    assert errors(broker.ask(asked, version)) == {("t1", 0): error}


def test_clients_date_their_commits_in_version_1_and_their_retention_in_2_to_4(broker: Broker) -> None:
    now_ms = broker.world.clock.now_ms()
    dated = commit({("t1", 0): 5})
    dated.topics[0].partitions[0].commit_timestamp = 12345
    broker.ask(dated, 1)
    broker.ask(commit({("t1", 1): 6}, retention_time_ms=1000), 2)
    broker.ask(commit({("t2", 0): 7}, retention_time_ms=1000), 5)
    kept = next(shard.offsets["g"] for shard in broker.world.shards if "g" in shard.offsets)
    times = {key: (row.commit_timestamp, row.expire_timestamp) for key, row in kept.items()}
    assert times == {("t1", 0): (12345, -1), ("t1", 1): (now_ms, now_ms + 1000), ("t2", 0): (now_ms, -1)}


def test_a_commit_waits_until_it_is_committed(broker: Broker) -> None:
    broker.world.log.hold()
    answer = broker.ask(commit({("t1", 0): 5, ("no", 0): 1}), 7)
    assert not answer.done
    broker.world.log.release()
    assert errors(answer.value) == {("no", 0): 3, ("t1", 0): 0}


# --- OffsetFetch


@pytest.mark.parametrize("version", range(8))
def test_fetches_of_one_group(broker: Broker, version: int) -> None:
    broker.ask(commit({("t1", 0): 5}), 7)
    absent = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if version == 0 else ErrorCode.NONE
    answer = broker.ask(fetch({"t1": [0, 1], "no": [0]}), version)
    assert offsets(answer) == {("t1", 0): (5, 0), ("t1", 1): (-1, absent), ("no", 0): (-1, absent)}
    assert answer.error_code == 0


@pytest.mark.parametrize("version", range(2, 8))
def test_fetches_of_all_partitions(broker: Broker, version: int) -> None:
    broker.ask(commit({("t2", 0): 7, ("t1", 1): 6, ("t1", 0): 5}), 7)
    assert offsets(broker.ask(fetch(None), version)) == {
        ("t1", 0): (5, 0),
        ("t1", 1): (6, 0),
        ("t2", 0): (7, 0),
    }
    assert broker.ask(fetch(None, "absent"), version).topics == []
    assert broker.ask(fetch({}), version).topics == []


@pytest.mark.parametrize("version", [8, 9])
def test_fetches_of_many_groups(broker: Broker, version: int) -> None:
    broker.ask(commit({("t1", 0): 5}), 7)
    answer = broker.ask(fetch_groups({"g": {"t1": [0, 1]}, "absent": {"t1": [0]}, "": None}), version)
    assert [group.group_id for group in answer.groups] == ["g", "absent", ""]
    assert offsets(answer.groups[0]) == {("t1", 0): (5, 0), ("t1", 1): (-1, 0)}
    assert offsets(answer.groups[1]) == {("t1", 0): (-1, 0)}
    assert answer.groups[2].topics == []


def test_fetches_by_topic_id(broker: Broker) -> None:
    broker.ask(commit({(ONE, 0): 5}), 10)
    broker.world.commit({("deleted", 0): 9}, group_id="g")
    answer = broker.ask(fetch_groups({"g": {ONE: [0], STRANGE: [3]}}), 10)
    assert offsets(answer.groups[0]) == {
        (ONE, 0): (5, 0),
        (STRANGE, 3): (-1, ErrorCode.UNKNOWN_TOPIC_ID),
    }
    everything = broker.ask(fetch_groups({"g": None}), 10)
    assert offsets(everything.groups[0]) == {(ONE, 0): (5, 0)}


def test_where_a_group_s_error_stands(broker: Broker) -> None:
    for partition in range(PARTITIONS):
        broker.world.coordinator.unload(partition, leader_epoch=2)
    lost = ErrorCode.NOT_COORDINATOR
    assert offsets(broker.ask(fetch({"t1": [0]}), 1)) == {("t1", 0): (-1, lost)}
    single = broker.ask(fetch({"t1": [0]}), 2)
    assert (single.error_code, single.topics) == (lost, [])
    many = broker.ask(fetch_groups({"g": {"t1": [0]}}), 8).groups[0]
    assert (many.error_code, many.topics) == (lost, [])
    assert errors(broker.ask(commit({("t1", 0): 1}), 7)) == {("t1", 0): lost}


# --- DescribeGroups, ListGroups, DeleteGroups, OffsetDelete


@pytest.mark.parametrize("version", range(7))
def test_describing(broker: Broker, version: int) -> None:
    member_id = broker.member()
    live, absent = broker.ask(DescribeGroupsRequest(groups=["g", "absent"]), version).groups
    assert (live.error_code, live.group_state, live.protocol_type, live.protocol_data) == (
        0,
        "Stable",
        "consumer",
        "range",
    )
    (member,) = live.members
    assert (member.member_id, member.client_id, member.client_host) == (member_id, "app", "/10.0.0.7")
    assert (member.member_metadata, member.member_assignment) == (b"meta", b"all")
    assert absent.group_state == "Dead"
    told = (ErrorCode.GROUP_ID_NOT_FOUND, "Group absent not found.") if version >= 6 else (0, None)
    assert (absent.error_code, absent.error_message) == told


def test_authorised_operations_are_told_when_asked_for(broker: Broker) -> None:
    broker.member()
    asked = DescribeGroupsRequest(groups=["g"], include_authorized_operations=True)
    told = broker.ask(asked, 5).groups[0].authorized_operations
    read, delete, describe = 1 << 3, 1 << 6, 1 << 8
    assert told & (read | delete | describe) == read | delete | describe
    asked.include_authorized_operations = False
    assert broker.ask(asked, 5).groups[0].authorized_operations == -(2**31)


@pytest.mark.parametrize("version", range(6))
def test_listing(broker: Broker, version: int) -> None:
    broker.member()
    (group,) = broker.ask(ListGroupsRequest(), version).groups
    assert (group.group_id, group.protocol_type) == ("g", "consumer")
    assert group.group_state == ("Stable" if version >= 4 else "")
    assert group.group_type == ("classic" if version >= 5 else "")


@pytest.mark.parametrize(
    ("states", "types", "listed"),
    [(["STABLE"], [], True), (["Empty"], [], False), ([], ["Classic"], True), ([], ["consumer"], False)],
)
def test_listing_by_state_and_type(broker: Broker, states: list[str], types: list[str], listed: bool) -> None:
    broker.member()
    answer = broker.ask(ListGroupsRequest(states_filter=states, types_filter=types), 5)
    assert bool(answer.groups) == listed


@pytest.mark.parametrize("version", range(4))
def test_deleting_groups(broker: Broker, version: int) -> None:
    broker.member("live")
    broker.ask(commit({("t1", 0): 5}), 7)
    answer = broker.ask(DeleteGroupsRequest(groups_names=["g", "live", "absent", "g"]), version)
    assert [(row.group_id, row.error_code) for row in answer.results] == [
        ("g", 0),
        ("live", ErrorCode.NON_EMPTY_GROUP),
        ("absent", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert broker.ask(DeleteGroupsRequest(), version).results == []


def test_deleting_groups_waits_for_all(broker: Broker) -> None:
    broker.ask(commit({("t1", 0): 5}, "a"), 7)
    broker.ask(commit({("t1", 0): 5}, "b"), 7)
    broker.world.log.hold()
    answer = broker.ask(DeleteGroupsRequest(groups_names=["a", "b"]), 2)
    assert not answer.done
    broker.world.log.release()
    assert [row.error_code for row in answer.value.results] == [0, 0]


def test_deleting_offsets(broker: Broker) -> None:
    broker.ask(commit({("t1", 0): 5, ("t1", 1): 6}), 7)
    topic, row = (
        OffsetDeleteRequest.OffsetDeleteRequestTopic,
        OffsetDeleteRequest.OffsetDeleteRequestPartition,
    )
    asked = OffsetDeleteRequest(
        group_id="g", topics=[topic(name="t1", partitions=[row(partition_index=0), row(partition_index=9)])]
    )
    answer = broker.ask(asked, 0)
    assert answer.error_code == 0
    assert [(p.partition_index, p.error_code) for p in answer.topics[0].partitions] == [(9, 3), (0, 0)]
    assert broker.world.fetch(group_id="g") == {("t1", 1): 6}
    asked.group_id = "absent"
    refused = broker.ask(asked, 0)
    assert (refused.error_code, refused.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def test_a_client_without_an_id(broker: Broker) -> None:
    assert broker.ask(join(), 0, client_id=None).member_id == "-1"
