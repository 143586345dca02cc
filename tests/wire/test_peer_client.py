"""The client to other brokers, with a whole broker of ours at the other end of a socket."""

from __future__ import annotations

import asyncio
import random
import socket
from contextlib import asynccontextmanager, closing

import pytest

from kcompat import Broker
from kcompat.net.loop_clock import LoopClock
from kcompat.net.outbound_socket import SocketConnector
from kcompat.peer.client import PeerClient, PeerSettings
from kcompat.peer.errors import PeerError, PeerFault
from kcompat.peer.releases import release
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.raw_client import RawClient
from support.raw_requests import create_topic, fetch_request, produce

SETTINGS = PeerSettings(release("3.9"), 10_000, 30_000, 200 * 2**20)
VALUE = random.Random(1).randbytes(900_000)


@pytest.fixture(scope="module")
def address():
    with Broker() as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with RawClient((host, int(port))) as client:
            assert create_topic(client, "t") == 0
            for _ in range(8):
                assert produce(client, "t", build_batch([Record(0, 0, None, VALUE)])).error_code == 0
        yield host, int(port)


@asynccontextmanager
async def client_of(address):
    loop = asyncio.get_running_loop()
    ports = (SocketConnector(loop), LoopClock(loop), random.Random(1))
    client = PeerClient("the peer", "broker-1-fetcher-0", lambda: address, lambda: SETTINGS, ports)
    yield client
    client.close()


async def outcome(promise):
    future = asyncio.get_running_loop().create_future()
    promise.then(future.set_result, future.set_exception)
    async with asyncio.timeout(10):
        try:
            return await future
        except PeerError as error:
            return error.fault


async def test_a_broker_answers_many_requests_in_flight(address):
    async with client_of(address) as client:
        promises = [client.call(MetadataRequest(topics=None), 10_000) for _ in range(50)]
        names = [[topic.name for topic in (await outcome(promise)).topics] for promise in promises]
        assert names == [["t"]] * 50


async def test_megabytes_are_fetched_as_views_that_stay_as_they_are(address):
    async with client_of(address) as client:
        kept = []
        request = fetch_request("t")
        request.max_bytes = request.topics[0].partitions[0].partition_max_bytes = 50_000_000
        known = await outcome(client.call(MetadataRequest(topics=None), 10_000))
        request.topics[0].topic_id = known.topics[0].topic_id
        for _ in range(3):
            response = await outcome(client.call(request, 10_000))
            assert not response.error_code
            kept.append(response.responses[0].partitions[0].records)
        assert [len(records) > 8 * len(VALUE) for records in kept] == [True] * 3
        assert all(isinstance(records, memoryview) for records in kept)
        assert kept[0] == kept[1] == kept[2]
        assert len({id(records.obj) for records in kept}) == 3
        assert bytes(kept[0]).count(VALUE) == 8


async def test_a_broker_that_is_gone_refuses():
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        async with client_of(sock.getsockname()) as client:
            assert await outcome(client.call(MetadataRequest(topics=None), 10_000)) is PeerFault.REFUSED


async def test_a_broker_that_accepts_and_never_answers():
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        async with client_of(listening.getsockname()) as client:
            assert await outcome(client.call(MetadataRequest(topics=None), 100)) is PeerFault.TIMED_OUT
