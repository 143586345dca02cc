"""Big fetches by old clients: converted while they are sent, in little memory, with turns for all others."""

from __future__ import annotations

import socket
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.message_set import read_messages
from kcompat.records.record import Record
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient, request_frame
from support.raw_requests import create_topic, produce

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCHES = 40
NOW = int(time.time() * 1000)
"""Retention deletes what is older, on a busy machine even while it is read here."""
RECORDS = [Record(0, NOW, b"key", b"v" * 90)] * 8000
MIB = 1 << 20


@pytest.fixture(scope="module")
def broker() -> Iterator[KcompatBroker]:
    with KcompatBroker() as running:
        with RawClient(("127.0.0.1", running.port)) as client:
            for topic, codec in (("plain", Codec.NONE), ("packed", Codec.LZ4)):
                create_topic(client, topic)
                for _ in range(BATCHES):
                    assert produce(client, topic, build_batch(RECORDS, codec=codec)).error_code == 0
        yield running


def resident(broker: KcompatBroker) -> int:
    """Bytes of memory in use."""
    status = Path(f"/proc/{broker.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def fetch_of(topic: str) -> FetchRequest:
    row = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=50 * MIB)
    wanted = FetchRequest.FetchTopic(topic=topic, partitions=[row])
    return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=50 * MIB, topics=[wanted])


@pytest.mark.parametrize("version", [1, 3])
def test_an_unread_answer_takes_no_memory_and_keeps_nobody_waiting(
    broker: KcompatBroker, version: int
) -> None:
    address = ("127.0.0.1", broker.port)
    with RawClient(address) as other:
        other.call(ApiVersionsRequest(), 0)
        before = resident(broker)
        sockets = [socket.create_connection(address) for _ in range(8)]
        for sock in sockets:
            sock.sendall(request_frame(fetch_of("plain"), version))
        for _ in range(50):
            other.call(ApiVersionsRequest(), 0)
        sizes = [struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))[0] for sock in sockets]
        grown = resident(broker) - before
        for sock in sockets:
            sock.close()
    assert min(sizes) > 30 * MIB
    assert grown < 30 * MIB


@pytest.mark.parametrize("version", [0, 3])
@pytest.mark.parametrize("topic", ["plain", "packed"])
def test_a_big_answer_holds_together(broker: KcompatBroker, topic: str, version: int) -> None:
    with RawClient(("127.0.0.1", broker.port)) as client:
        answer = client.call(fetch_of(topic), version).responses[0].partitions[0]
    offsets = [message.offset for message in read_messages(bytes(answer.records))]
    total = BATCHES * len(RECORDS)
    assert offsets == list(range(len(offsets)))
    assert len(offsets) > 0.7 * total
