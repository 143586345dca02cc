"""An embedded broker that goes back to its start or to a snapshot, over real sockets and real files."""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from kcompat import Broker, Cluster, allow
from kcompat.errors import SnapshotError, UsageError
from kcompat.instrumentation.snapshots import DIRECTORY, Snapshot, Snapshots
from kcompat.protocol.messages.create_acls import CreateAclsRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from support.eventually import eventually
from support.log_harness import make_batch
from support.raw_client import RawClient
from support.raw_requests import (
    commit_offset,
    committed_offset,
    create_topic,
    delete_records,
    delete_topic,
    describe_topic,
    earliest_offset,
    fetch_request,
    find_coordinator,
    init_producer_id,
    produce,
    read_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.embedded.thread import LoopThread
    from kcompat.node.broker import BrokerNode

NO_SUCH_TOPIC, UNKNOWN_MEMBER_ID, TOPIC_AUTHORIZATION_FAILED = 3, 25, 29


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(config={"log.segment.bytes": 300}) as running:
        yield running


@contextmanager
def client_of(broker: Broker) -> Iterator[RawClient]:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with RawClient((host, int(port))) as client:
        yield client


def inside(broker: Broker) -> tuple[LoopThread, BrokerNode]:
    return broker._running()


def write(client: RawClient, topic: str, *values: bytes) -> None:
    for value in values:
        assert produce(client, topic, make_batch(value=value)).error_code == 0


def values_of(client: RawClient, topic: str) -> list[bytes | None]:
    start = earliest_offset(client, topic)
    return [
        None if record.value is None else bytes(record.value)
        for record in read_all(client, topic, offset=start)
    ]


def commit(client: RawClient, group: str, topic: str, offset: int) -> None:
    assert find_coordinator(client, group) == 0
    eventually(lambda: commit_offset(client, group, topic, offset) == 0, "the group is loaded")


def test_a_reset_broker_is_as_it_was_at_its_start(broker: Broker) -> None:
    address = broker.bootstrap_servers
    for _ in range(3):
        with client_of(broker) as client:
            assert describe_topic(client, "orders").error_code == NO_SUCH_TOPIC
            assert create_topic(client, "orders", 2) == 0
            write(client, "orders", b"1", b"2")
            commit(client, "billing", "orders", 1)
            assert init_producer_id(client) == (0, 0)
        broker.reset()
        assert broker.bootstrap_servers == address
    with client_of(broker) as client:
        assert find_coordinator(client, "billing") == 0
        eventually(
            lambda: committed_offset(client, "billing", "orders").committed_offset == -1,
            "the group is loaded",
        )


def test_a_broker_goes_back_to_any_snapshot_in_any_order(broker: Broker) -> None:
    with client_of(broker) as client:
        assert create_topic(client, "orders") == 0
        assert create_topic(client, "kept") == 0
        write(client, "kept", b"k")
        write(client, "orders", b"1" * 200, b"2" * 200)
        commit(client, "billing", "orders", 1)
    two = broker.snapshot()
    with client_of(broker) as client:
        write(client, "orders", b"3" * 200, b"4")
        delete_records(client, "orders", 1)
        commit(client, "billing", "orders", 3)
    four = broker.snapshot()

    def is_two(client: RawClient) -> None:
        assert values_of(client, "orders") == [b"1" * 200, b"2" * 200]
        assert committed(client) == 1
        assert init_producer_id(client) == (0, 0)

    def is_four(client: RawClient) -> None:
        assert values_of(client, "orders") == [b"2" * 200, b"3" * 200, b"4"]
        assert committed(client) == 3

    def committed(client: RawClient) -> int:
        assert find_coordinator(client, "billing") == 0
        return int(committed_offset(client, "billing", "orders").committed_offset)

    for mark, check in ((two, is_two), (four, is_four), (two, is_two), (two, is_two), (four, is_four)):
        broker.restore(mark)
        with client_of(broker) as client:
            check(client)
            assert values_of(client, "kept") == [b"k"]
            write(client, "orders", b"later")
            assert delete_topic(client, "kept") == 0
            assert create_topic(client, "kept", 3) == 0
            write(client, "kept", b"another")
    broker.reset()
    with client_of(broker) as client:
        assert describe_topic(client, "orders").error_code == NO_SUCH_TOPIC


def test_connections_are_closed_and_waiting_requests_are_not_answered(broker: Broker) -> None:
    with client_of(broker) as idle, client_of(broker) as waiting:
        assert create_topic(idle, "orders") == 0
        waiting.send(fetch_request("orders", max_wait_ms=60_000), 11)
        broker.reset()
        with pytest.raises(ConnectionError):
            waiting.receive(type(fetch_request("orders")), 11)
        with pytest.raises(ConnectionError):
            describe_topic(idle, "orders")


def test_a_group_does_not_know_the_member_of_the_last_test(broker: Broker) -> None:
    joining = JoinGroupRequest(
        group_id="billing",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequest.JoinGroupRequestProtocol("range", b"")],
    )
    with client_of(broker) as client:
        assert find_coordinator(client, "billing") == 0
        joined = client.call(joining, 2)
        assert joined.error_code == 0
    broker.reset()
    beating = HeartbeatRequest("billing", joined.generation_id, joined.member_id)
    with client_of(broker) as client:
        assert find_coordinator(client, "billing") == 0
        assert client.call(beating, 2).error_code == UNKNOWN_MEMBER_ID
        assert client.call(joining, 2).generation_id == 1


def test_ids_of_topics_cluster_and_directory_stay(broker: Broker) -> None:
    with client_of(broker) as client:
        create_topic(client, "orders")
        topic_id = describe_topic(client, "orders").topic_id
    mark = broker.snapshot()
    before = inside(broker)[1].parts
    broker.restore(mark)
    after = inside(broker)[1].parts
    assert after is not before
    assert after.storage.cluster_id == before.storage.cluster_id
    assert after.cluster.registration.epoch == before.cluster.registration.epoch
    with client_of(broker) as client:
        described = describe_topic(client, "orders")
        assert described.topic_id == topic_id
        assert described.partitions[0].leader_epoch == 0


def test_records_in_a_directory_that_was_given_survive(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        with client_of(broker) as client:
            create_topic(client, "orders")
            write(client, "orders", b"1")
        mark = broker.snapshot()
        with client_of(broker) as client:
            write(client, "orders", b"2")
        broker.restore(mark)
    assert not (tmp_path / DIRECTORY).exists()
    with Broker(data_dir=tmp_path) as broker:
        with client_of(broker) as client:
            assert values_of(client, "orders") == [b"1"]
        with pytest.raises(UsageError, match=r"take mark = broker\.snapshot\(\) after the start"):
            broker.reset()
        mark = broker.snapshot()
        with client_of(broker) as client:
            delete_topic(client, "orders")
        broker.restore(mark)
        with client_of(broker) as client:
            assert values_of(client, "orders") == [b"1"]


def test_what_cannot_be_restored_changes_nothing(broker: Broker) -> None:
    with client_of(broker) as client:
        create_topic(client, "orders")
        write(client, "orders", b"1")
    mark = broker.snapshot()
    with Broker() as other:
        foreign = other.snapshot()
    with pytest.raises(UsageError, match="of another broker, or of this one before it was stopped"):
        broker.restore(foreign)
    with pytest.raises(UsageError, match="use what snapshot"):
        broker.restore(cast("Snapshot", "yesterday"))
    for directory in inside(broker)[1].parts.storage.logs.directories:
        shutil.rmtree(Path(directory.path) / DIRECTORY)
    with pytest.raises(UsageError, match="the files of the snapshot are gone"):
        broker.restore(mark)
    with client_of(broker) as client:
        assert values_of(client, "orders") == [b"1"]


def test_a_broker_that_is_not_started_cannot_go_back() -> None:
    broker = Broker()
    with broker:
        mark = broker.snapshot()
    for call in (broker.reset, broker.snapshot, lambda: broker.restore(mark)):
        with pytest.raises(UsageError, match="the broker is not started"):
            call()
    with broker, pytest.raises(UsageError, match="before it was stopped"):
        broker.restore(mark)


def test_a_broker_that_cannot_go_back_is_stopped_and_says_so(broker: Broker) -> None:
    with client_of(broker) as client:
        create_topic(client, "orders")
        write(client, "orders", b"1")
    mark = broker.snapshot()
    thread, node = inside(broker)
    with client_of(broker) as client:
        write(client, "orders", b"2")
    (directory,) = node.parts.storage.logs.directories
    shutil.rmtree(Path(directory.path) / "orders-0")
    with pytest.raises(SnapshotError, match=r"the broker could not go back, and is stopped: .*orders-0"):
        broker.restore(mark)
    assert not thread.is_here
    with pytest.raises(UsageError, match="the broker is stopped"):
        asyncio.run(broker._snapshots.reset())
    with pytest.raises(UsageError, match="the broker is not started"):
        broker.snapshot()
    with broker, client_of(broker) as client:
        assert describe_topic(client, "orders").error_code == NO_SUCH_TOPIC


def test_a_directory_that_has_failed_is_tried_again(broker: Broker) -> None:
    with client_of(broker) as client:
        create_topic(client, "orders")
        write(client, "orders", b"1")
    mark = broker.snapshot()
    thread, node = inside(broker)
    (directory,) = node.parts.storage.logs.directories
    thread.do(lambda: directory.fault(OSError(5, "input/output error")))
    with pytest.raises(UsageError, match="is offline"):
        broker.snapshot()
    broker.restore(mark)
    with client_of(broker) as client:
        assert values_of(client, "orders") == [b"1"]
        write(client, "orders", b"2")
        assert values_of(client, "orders") == [b"1", b"2"]


def test_files_of_snapshots_go_with_them(broker: Broker) -> None:
    with client_of(broker) as client:
        create_topic(client, "orders")
        write(client, "orders", b"1")
    (directory,) = inside(broker)[1].parts.storage.logs.directories
    copies = Path(directory.path) / DIRECTORY
    one, two = broker.snapshot(), broker.snapshot()
    assert len(list(copies.iterdir())) == 1, "what has not changed is not copied again"
    del one
    assert len(list(copies.iterdir())) == 1
    del two
    assert list(copies.iterdir()) == []


def test_old_parts_of_the_broker_can_no_longer_write(broker: Broker) -> None:
    with client_of(broker) as client:
        create_topic(client, "orders")
        write(client, "orders", b"1")
    _, node = inside(broker)
    log = node.parts.storage.logs.get("orders", 0)
    session = node.parts.session
    assert log is not None
    broker.restore(broker.snapshot())
    assert log.is_failed
    with pytest.raises(Exception, match="has ended"):
        inside(broker)[0].call(session.get("/brokers"))


def test_faults_and_the_record_of_requests_go_on() -> None:
    with Broker(record_requests=True) as broker:
        with client_of(broker) as client:
            create_topic(client, "before")
        fault = broker.faults.fail("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", topic="orders")
        broker.reset()
        with client_of(broker) as client:
            create_topic(client, "orders")
            assert describe_topic(client, "orders").error_code == NO_SUCH_TOPIC
            fault.remove()
            assert describe_topic(client, "orders").error_code == 0
        asked = [request.api for request in broker.requests()]
        assert asked == ["CreateTopics", "CreateTopics", "Metadata", "Metadata"]


def test_topics_and_access_rules_given_at_the_start_are_there_again() -> None:
    rules = [allow("*", "all", cluster=True), allow("*", "all", topic="open", prefix=True)]
    with Broker(topics={"open": 3, "closed": 1}, acls=rules) as broker:
        for _ in range(2):
            with client_of(broker) as client:
                assert len(describe_topic(client, "open").partitions) == 3
                assert describe_topic(client, "closed").error_code == TOPIC_AUTHORIZATION_FAILED
                assert values_of(client, "open") == []
                write(client, "open", b"1")
                everybody = CreateAclsRequest.AclCreation(2, "closed", 3, "User:*", "*", 2, 3)
                assert client.call(CreateAclsRequest([everybody]), 3).results[0].error_code == 0
                assert describe_topic(client, "closed").error_code == 0
                assert delete_topic(client, "open") == 0
            broker.reset()


def test_a_reset_during_a_restore_waits_for_it(broker: Broker) -> None:
    marks = [broker.snapshot()]
    with ThreadPoolExecutor(4) as threads:
        for done in [
            threads.submit(broker.restore, marks[0]),
            *(threads.submit(broker.reset) for _ in range(6)),
        ]:
            done.result()
    with client_of(broker) as client:
        assert create_topic(client, "orders") == 0


def test_calls_during_a_reset_wait_for_it(broker: Broker) -> None:
    def use(number: int) -> None:
        for _ in range(20):
            broker.add(f"orders-{number}", "text")
            broker.topics()
            broker.groups()
            broker.snapshot()

    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(use, number) for number in range(4)]
        while not all(call.done() for call in calls):
            broker.reset()
        for call in calls:
            call.result()


def test_a_broker_that_shares_its_metadata_cannot_go_back() -> None:
    with Cluster(1) as cluster:

        async def go_back() -> None:
            snapshots = Snapshots(cluster.nodes.running[0])
            with pytest.raises(UsageError, match="other brokers may use the metadata"):
                await snapshots.take()
            await snapshots.reset()

        with pytest.raises(UsageError, match="other brokers may use the metadata"):
            cluster.thread.call(go_back())
