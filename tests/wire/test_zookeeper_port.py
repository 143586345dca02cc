"""`kcompat start --zookeeper-port`: sockets, restarts, hostile peers."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcompat.zookeeper_server.records import (
    MAX_BUFFER,
    Code,
    CreateRequest,
    GetDataResponse,
    OpCode,
    PathModeRequest,
    PathWatchRequest,
    SetDataRequest,
    TextsResponse,
    WatcherEvent,
)
from support.eventually import limit_s
from support.kcompat_broker import KcompatBroker
from support.zookeeper_broker import ZooKeeperBroker
from support.zookeeper_service import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.zookeeper_client import ZooKeeperClient

MIB = 1 << 20
EPHEMERAL = 1


@pytest.fixture(scope="module")
def broker() -> Iterator[ZooKeeperBroker]:
    with ZooKeeperBroker() as started:
        yield started


def create(client: ZooKeeperClient, path: str, data: bytes = b"", flags: int = 0) -> int:
    return client.ask(OpCode.CREATE, CreateRequest(path, data, OPEN, flags)).header.err


def exists(client: ZooKeeperClient, path: str, *, watch: bool = False) -> bool:
    return client.ask(OpCode.EXISTS, PathWatchRequest(path, watch)).header.err == Code.OK


def next_or_none(client: ZooKeeperClient) -> WatcherEvent | None:
    """The next event; None once the server has closed the connection."""
    try:
        return client.next_event()
    except ConnectionError:
        return None


def resident(broker: ZooKeeperBroker) -> int:
    status = Path(f"/proc/{broker.pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS"))


def test_the_broker_is_seen_and_its_changes_are_told(broker: ZooKeeperBroker) -> None:
    with broker.client() as client:
        client.connect()
        ids = client.ask(OpCode.GET_CHILDREN, PathWatchRequest("/brokers/ids", False)).read(TextsResponse)
        assert ids == TextsResponse(("1",))
        registration = client.ask(OpCode.GET_DATA, PathWatchRequest("/brokers/ids/1", False)).read(
            GetDataResponse
        )
        assert isinstance(registration, GetDataResponse)
        assert registration.data is not None
        assert f'"port":{broker.port}'.encode() in registration.data
        system = client.ask(OpCode.GET_CHILDREN, PathWatchRequest("/zookeeper", False)).read(TextsResponse)
        assert system == TextsResponse(("config", "quota"))
        client.close_session()


def test_sessions_outlive_the_process_for_their_timeout(tmp_path: Path) -> None:
    with ZooKeeperBroker(data_dir=tmp_path) as broker:
        with broker.client() as mine, broker.client() as silent:
            kept = mine.connect(20_000)
            silent.connect(4000)
            assert create(mine, "/mine", b"x", EPHEMERAL) == Code.OK
            assert create(silent, "/silent", b"", EPHEMERAL) == Code.OK
            broker.kill()
            assert mine.is_closed()
        broker.start()
        with broker.client() as client:
            assert client.connect(20_000, kept.session_id, kept.password or b"").session_id == kept.session_id
            assert exists(client, "/mine")
            assert exists(client, "/silent", watch=True)
            event = client.next_event()
            assert (event.type, event.path) == (2, "/silent")
            assert exists(client, "/mine")
            assert client.close_session().header.err == Code.OK
            assert client.is_closed()
        with broker.client() as client:
            client.connect()
            assert not exists(client, "/mine")


def test_without_the_port_the_sessions_end_with_the_process(tmp_path: Path) -> None:
    with ZooKeeperBroker(data_dir=tmp_path) as broker, broker.client() as client:
        client.connect(40_000)
        create(client, "/mine", b"", EPHEMERAL)
        create(client, "/stays")
    (tmp_path / "process.log").unlink()  # what it says of its port is read from there
    with KcompatBroker(data_dir=tmp_path):
        pass
    (tmp_path / "process.log").unlink()
    with ZooKeeperBroker(data_dir=tmp_path) as broker, broker.client() as again:
        again.connect()
        assert exists(again, "/stays")
        assert not exists(again, "/mine")


def test_a_taken_port_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-m", "kcompat", "start", "--port", "0", "--zookeeper-port", str(port)],
            cwd=tmp_path, text=True, capture_output=True, timeout=limit_s(60), check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    sentence = (
        f"kcompat: Cannot listen on 127.0.0.1:{port} for ZooKeeper's clients: the port is already in use.\n"
    )
    assert ended.stderr == sentence


def test_hostile_frames_cost_nothing(broker: ZooKeeperBroker) -> None:
    before = resident(broker)
    with broker.client() as good, ExitStack() as peers:
        good.connect()
        create(good, "/good")
        for start in (
            b"\x7f\xff\xff\xff",
            b"\xff\xff\xff\xff",
            MAX_BUFFER.to_bytes(4, "big") + b"x" * 1000,
            (1).to_bytes(4, "big") + b"x",
            b"GET / HTTP/1.1\r\n\r\n",
            b"",
            b"ruo",
        ):
            for _ in range(5):
                peers.enter_context(broker.client()).send(start)
        assert exists(good, "/good")
        more = [peers.enter_context(broker.client()) for _ in range(60)]
        assert more[-1].is_closed()
        peers.close()
        assert exists(good, "/good")
        assert create(good, "/large", bytes(MAX_BUFFER - 100)) == Code.OK
        good.send((MAX_BUFFER + 1).to_bytes(4, "big"))
        assert good.is_closed()
    assert resident(broker) - before < 16 * MIB


def test_a_peer_that_never_reads_is_answered_no_more_than_it_takes(broker: ZooKeeperBroker) -> None:
    with broker.client() as good, broker.client() as deaf:
        good.connect()
        deaf.connect()
        create(good, "/big", bytes(MIB - 200))
        before = resident(broker)
        for _ in range(500):
            deaf.request(OpCode.GET_DATA, PathWatchRequest("/big", False))
        assert exists(good, "/big")
        assert resident(broker) - before < 32 * MIB
        for _ in range(500):
            assert len(deaf.reply().body) > MIB - 200


def test_watchers_that_never_read_are_hung_up_on(broker: ZooKeeperBroker) -> None:
    with broker.client() as good, broker.client() as deaf:
        good.connect()
        deaf.connect()
        path = "/" + "w" * 100_000
        create(good, path)
        deaf.ask(OpCode.ADD_WATCH, PathModeRequest(path, 0))
        before = resident(broker)
        for _ in range(400):
            assert good.ask(OpCode.SET_DATA, SetDataRequest(path, b"", -1)).header.err == Code.OK
        assert resident(broker) - before < 48 * MIB
        told = sum(1 for _ in iter(lambda: next_or_none(deaf), None))
        assert 0 < told < 400
