"""Members that expire, producers that are fenced, and transactions that hang, in an embedded broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.errors import UsageError
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from support.eventually import eventually
from support.raw_client import RawClient
from support.raw_producer import RawProducer
from support.raw_requests import create_topic, fetch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.protocol.message import Message

SETTINGS = {
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "share.coordinator.state.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config=SETTINGS) as broker:
        with client_of(broker) as client:
            create_topic(client, "t")
            for key_type in (0, 1):
                request = FindCoordinatorRequest("g", key_type)
                eventually(lambda: not client.call(request, 3).error_code, "there is a coordinator")  # noqa: B023
        yield broker


def client_of(broker: Broker, client_id: str = "raw") -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)), client_id=client_id)


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with client_of(broker) as client:
        yield client


# -- members


def join(client: RawClient, group: str) -> str:
    """Join a classic group as its only member; the member id."""
    protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"")]
    member_id: str = client.call(
        JoinGroupRequest(group, 60_000, 60_000, "", None, "consumer", protocols), 3
    ).member_id
    return member_id


def test_a_member_of_a_classic_group_expires(
    broker: Broker, client: RawClient, caplog: pytest.LogCaptureFixture
) -> None:
    member_id = join(client, "classic")
    with pytest.raises(UsageError, match=r"has no such member: name one of .*client id raw"):
        broker.expire_member("classic", client_id="other")
    row = SyncGroupRequest.SyncGroupRequestAssignment
    sync = SyncGroupRequest("classic", 1, member_id, assignments=[row(member_id, b"mine")])
    assert client.call(sync, 3).assignment == b"mine"
    heartbeat = HeartbeatRequest("classic", 1, member_id)
    assert client.call(heartbeat, 3).error_code == 0
    assert broker.expire_member("classic", client_id="raw") == member_id
    told = broker.condition().faults[-1]
    assert told.description == f"The session of member {member_id} of group classic was ended"
    assert told.ended == told.began
    line = next(each for each in caplog.messages if f"member {member_id} " in each)
    assert line.endswith("for its session timeout of 60000 ms, ended before that time by `expire_member`")
    assert client.call(heartbeat, 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    with pytest.raises(UsageError, match="the group 'classic' has no members"):
        broker.expire_member("classic")


def share(member_id: str, epoch: int) -> Message:
    topics = ["t"] if epoch == 0 else None
    return ShareGroupHeartbeatRequest("share", member_id, epoch, subscribed_topic_names=topics)


def consumer(member_id: str, epoch: int) -> Message:
    joins = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
    return ConsumerGroupHeartbeatRequest("consumer", member_id, epoch, **(joins if epoch == 0 else {}))


@pytest.mark.parametrize("heartbeat", [share, consumer])
def test_a_member_of_another_kind_of_group_expires(
    broker: Broker, client: RawClient, heartbeat: Callable[[str, int], Message]
) -> None:
    group, names = heartbeat.__name__, ["AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBB"]
    epochs = []
    for name in names:
        answer = client.call(heartbeat(name, 0), 1)
        assert answer.error_code == 0
        epochs.append(answer.member_epoch)
    with pytest.raises(UsageError, match="has several such members: name one of "):
        broker.expire_member(group)
    assert broker.expire_member(group, names[0]) == names[0]
    assert client.call(heartbeat(names[0], epochs[0]), 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert client.call(heartbeat(names[1], epochs[1]), 1).error_code == 0


# -- transactions


def test_a_producer_is_fenced_and_its_transaction_aborted(broker: Broker, client: RawClient) -> None:
    producer = RawProducer(client, "fenced")
    assert producer.send() == 0
    broker.fence_producer("fenced")
    assert "id fenced was fenced" in broker.condition().faults[-1].description
    assert producer.commit() == ErrorCode.PRODUCER_FENCED
    assert producer.send() == ErrorCode.PRODUCER_FENCED
    assert RawProducer(client, "fenced").epoch > producer.epoch + 1
    with pytest.raises(UsageError, match="there is no transactional id 'none': known are 'fenced'"):
        broker.fence_producer("none")


def test_a_transaction_hangs_until_the_fault_ends(broker: Broker, client: RawClient) -> None:
    producer = RawProducer(client, "hanging")
    assert producer.send() == 0
    start = fetch(client, "t", 0).last_stable_offset
    with broker.hang_transaction("hanging") as fault:
        assert producer.state() == "CompleteAbort"
        assert producer.commit() == ErrorCode.INVALID_TXN_STATE
        row = fetch(client, "t", start)
        assert row.last_stable_offset == start < row.high_watermark
        assert fault.struck == 1
        told = broker.condition().faults[-1]
        assert (told.description.endswith(" hangs"), told.ended) == (True, None)
        with pytest.raises(UsageError, match="no transaction of 'hanging' is open"):
            broker.hang_transaction("hanging")
    row = fetch(client, "t", start)
    assert row.last_stable_offset == row.high_watermark
    assert fault.struck == 0
    assert broker.condition().faults[-1].ended is not None
