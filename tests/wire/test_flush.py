"""`flush.messages=1` on a whole broker whose disk syncs when the test says so."""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING

import pytest

from kcompat.log.files import Files
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import limit_s
from support.raw_client import RawClient
from support.raw_requests import (
    commit_offset,
    committed_offset,
    create_topic,
    fetch,
    fetch_request,
    find_coordinator,
    produce,
    read_all,
)
from support.threaded_node import node_on

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.log.files import OpenFile
    from kcompat.node.broker import BrokerNode

VERSION = 9


class Disk(Files):
    """Each sync of a log file waits for `go`, and fails with `fault` if there is one."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)
        self.syncs = 0
        self.fault: OSError | None = None

    def sync(self, file: OpenFile) -> None:
        self.syncs += 1
        self.begun.release()
        assert self.go.wait(30)
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.go.set()


@pytest.fixture
def broker(disk: Disk, tmp_path: Path) -> Iterator[BrokerNode]:
    with node_on(disk, tmp_path, {"offsets.topic.num.partitions": "1"}) as broker:
        with client_of(broker) as client:
            create_topic(client, "t", configs={"flush.messages": "1"})
            create_topic(client, "plain")
        yield broker
        disk.go.set()  # or the stop waits for it


def client_of(broker: BrokerNode) -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)))


def batch(value: bytes = b"v") -> bytearray:
    return build_batch([Record(0, 0, b"k", value)])


def send(client: RawClient, acks: int = 1, topic: str = "t") -> None:
    """Send a produce; `answer` takes what comes."""
    data = ProduceRequest.PartitionProduceData(index=0, records=memoryview(batch()))
    named = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
    client.send(ProduceRequest(acks=acks, timeout_ms=20_000, topic_data=[named]), VERSION)


def answer(client: RawClient) -> tuple[int, int]:
    """Error and offset of the next answer."""
    (partition,) = client.receive(ProduceRequest, VERSION).responses[0].partition_responses
    return partition.error_code, partition.base_offset


def is_answered(client: RawClient) -> bool:
    """Whether anything has come by now; to be asked after something that would have come later."""
    client._socket.setblocking(False)
    try:
        return bool(client._socket.recv(1, 2))  # MSG_PEEK
    except BlockingIOError:
        return False
    finally:
        client._socket.settimeout(10)


@pytest.mark.parametrize("acks", [1, -1])
def test_neither_an_answer_nor_a_reader_is_ahead_of_the_device(
    broker: BrokerNode, disk: Disk, acks: int
) -> None:
    with client_of(broker) as producer, client_of(broker) as other:
        send(producer, acks)
        assert disk.begun.acquire(timeout=limit_s(10))
        assert produce(other, "plain", batch()).error_code == 0, "the loop goes on"
        found = fetch(other, "t", 0)
        assert (found.error_code, found.high_watermark, len(found.records or b"")) == (0, 0, 0)
        assert not is_answered(producer)
        disk.go.set()
        assert answer(producer) == (0, 0)
        assert len(list(read_all(other, "t"))) == 1


def test_appends_during_a_sync_share_the_next(broker: BrokerNode, disk: Disk) -> None:
    clients = [client_of(broker) for _ in range(10)]
    for client in clients:
        send(client)
        send(client)
        assert disk.syncs or disk.begun.acquire(timeout=limit_s(10))
    with client_of(broker) as last:
        assert produce(last, "plain", batch()).error_code == 0, "all of the others have been read"
    disk.go.set()
    answers = {answer(client) for client in clients for _ in range(2)}
    assert answers == {(0, offset) for offset in range(20)}
    assert disk.syncs <= 3
    for client in clients:
        client.close()


def test_a_waiting_fetch_is_answered_when_the_sync_ends(broker: BrokerNode, disk: Disk) -> None:
    with client_of(broker) as producer, client_of(broker) as consumer:
        consumer.send(fetch_request("t", max_wait_ms=20_000), 11)
        send(producer)
        assert disk.begun.acquire(timeout=limit_s(10))
        disk.go.set()
        (partition,) = consumer.receive(FetchRequest, 11).responses[0].partitions
        assert (partition.high_watermark, len(partition.records) > 0) == (1, True)
        assert answer(producer) == (0, 0)


def test_a_failed_sync_is_no_acknowledgement(broker: BrokerNode, disk: Disk) -> None:
    disk.fault = OSError(errno.EIO, "Input/output error")
    with client_of(broker) as producer, client_of(broker) as other:
        send(producer)
        send(producer, acks=-1)
        assert disk.begun.acquire(timeout=limit_s(10))
        assert produce(other, "plain", batch()).error_code == 0
        disk.go.set()
        assert answer(producer) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
        assert answer(producer) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
        error = produce(other, "t", batch()).error_code
        assert error in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_committed_offsets_wait_for_the_device_too(disk: Disk, tmp_path: Path) -> None:
    settings = {"offsets.topic.num.partitions": "1", "log.flush.interval.messages": "1"}
    with (
        node_on(disk, tmp_path, settings) as broker,
        client_of(broker) as client,
        client_of(broker) as reader,
    ):
        create_topic(client, "t")
        find_coordinator(client, "g")
        done: list[int] = []
        thread = threading.Thread(target=lambda: done.append(commit_offset(client, "g", "t", 7)))
        thread.start()
        assert disk.begun.acquire(timeout=limit_s(10))
        assert committed_offset(reader, "g", "t").committed_offset == -1
        assert not done
        disk.go.set()
        thread.join(10)
        assert done == [0]
        assert committed_offset(reader, "g", "t").committed_offset == 7
