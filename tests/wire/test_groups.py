"""Groups on a whole broker: raw frames in, a restart in between, the log on disk."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from kcompat import Broker
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from support.raw_client import RawClient

if TYPE_CHECKING:
    from pathlib import Path

GROUP, TOPIC = "g", "t"
# Fewer partitions to create make the test quicker; nothing here depends on their number.
CONFIG = {"offsets.topic.num.partitions": "3"}


def client(broker: Broker) -> RawClient:
    host, port = broker.bootstrap_servers.rsplit(":", 1)
    return RawClient((host, int(port)))


def join(member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GROUP,
        member_id=member_id,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"m")],
    )


def sync(member_id: str, generation: int, assignments: dict[str, bytes]) -> SyncGroupRequest:
    row = SyncGroupRequest.SyncGroupRequestAssignment
    rows = [row(member_id=member, assignment=assignment) for member, assignment in assignments.items()]
    return SyncGroupRequest(group_id=GROUP, member_id=member_id, generation_id=generation, assignments=rows)


def commit(member_id: str, generation: int, offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    return OffsetCommitRequest(
        group_id=GROUP,
        member_id=member_id,
        generation_id_or_member_epoch=generation,
        topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
    )


def committed(connection: RawClient) -> int:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])
    answer = connection.call(OffsetFetchRequest(group_id=GROUP, topics=[topic]), 7)
    offset: int = answer.topics[0].partitions[0].committed_offset
    return offset


def prepare(connection: RawClient) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
    assert connection.call(CreateTopicsRequest(topics=[topic]), 4).topics[0].error_code == 0
    assert connection.call(FindCoordinatorRequest(key=GROUP), 3).error_code == 0


def test_members_and_offsets_outlive_the_broker(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path, config=CONFIG) as broker, client(broker) as one, client(broker) as two:
        prepare(one)
        first = one.call(join(), 3).member_id
        two.send(join(), 3)
        while one.call(heartbeat(first, 1), 3).error_code != ErrorCode.REBALANCE_IN_PROGRESS:
            pass  # the second member's join is on its way
        generation = one.call(join(first), 3).generation_id
        second = two.receive(JoinGroupRequest, 3).member_id
        two.send(sync(second, generation, {}), 3)
        assert one.call(sync(first, generation, {first: b"A", second: b"B"}), 3).assignment == b"A"
        assert two.receive(SyncGroupRequest, 3).assignment == b"B"
        assert one.call(commit(first, generation, 42), 7).topics[0].partitions[0].error_code == 0

    with Broker(data_dir=tmp_path, config=CONFIG) as broker, client(broker) as one:
        assert committed(one) == 42
        assert one.call(heartbeat(first, generation), 3).error_code == 0
        assert one.call(sync(second, generation, {}), 3).assignment == b"B"
        one.call(leave(first), 2)
        assert one.call(heartbeat(second, generation), 3).error_code == ErrorCode.REBALANCE_IN_PROGRESS
        assert one.call(join(second), 3).generation_id == generation + 1


def test_members_that_ask_for_their_group_at_the_same_time_are_one_generation(tmp_path: Path) -> None:
    """Each one asks on the connection on which it joins; Java and librdkafka have another one for that."""
    with Broker(data_dir=tmp_path, config=CONFIG) as broker, ExitStack() as stack:
        members = [stack.enter_context(client(broker)) for _ in range(3)]
        prepare(members[0])
        for member in members:
            assert member.call(FindCoordinatorRequest(key=GROUP), 3).error_code == 0
        for member in members:
            member.send(join(), 3)
        assert [member.receive(JoinGroupRequest, 3).generation_id for member in members] == [1, 1, 1]


def test_a_member_that_hangs_up_while_it_waits_holds_nobody_up(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path, config=CONFIG) as broker, client(broker) as one:
        prepare(one)
        first = one.call(join(), 3).member_id
        with client(broker) as gone:
            gone.send(join(), 3)
            while one.call(heartbeat(first, 1), 3).error_code != ErrorCode.REBALANCE_IN_PROGRESS:
                pass
        answer = one.call(join(first), 3)
        assert (answer.generation_id, len(answer.members)) == (2, 2)
        assert committed(one) == -1


def heartbeat(member_id: str, generation: int) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=GROUP, member_id=member_id, generation_id=generation)


def leave(member_id: str) -> LeaveGroupRequest:
    return LeaveGroupRequest(group_id=GROUP, member_id=member_id)
