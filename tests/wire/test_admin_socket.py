"""The administration socket: `kcompat compact` on a broker that runs, and what else may come in there."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from kcompat import Broker
from kcompat.log.cleaner.cleaner import Compacted
from kcompat.log.cleaner.watch import Progress
from kcompat.net.admin_socket import FILE_NAME, MAX_CONNECTIONS, MAX_LINE, AdminSocket, AdminSocketClient
from support.compacted_topics import compact, create_compacted_topic, fill, fill_with_long_values
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient
from support.raw_requests import create_topic, read_all

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator
    from pathlib import Path

NEVER_BY_ITSELF = {"log.cleaner.enable": "false"}


def test_compact_on_a_broker_that_runs(tmp_path: Path) -> None:
    with KcompatBroker(NEVER_BY_ITSELF, tmp_path) as broker:
        path = tmp_path / "data" / FILE_NAME
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        with RawClient(("127.0.0.1", broker.port)) as client:
            create_compacted_topic(client, "t")
            create_topic(client, "plain")
            fill(client, "t")
            done = compact(tmp_path / "data", "t")
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout.startswith("t-0: ")
            assert [record.offset for record in read_all(client, "t")] == [45, 46, 47, 48, 49]
            done = compact(tmp_path / "data", "plain", "absent", "t")
            assert done.returncode == 1
            assert done.stdout.startswith(
                "plain-0 was not compacted: "
                "its cleanup.policy does not contain compact, or its log is offline\nt-0: "
            )
            assert done.stderr == "kcompat: there is no topic absent\n"
        broker.stop()
        assert not path.exists()
        assert compact(tmp_path / "data", "t").returncode == 0, "a stopped broker's directory, as before"


def test_a_socket_that_a_killed_broker_left_is_replaced(tmp_path: Path) -> None:
    with KcompatBroker(NEVER_BY_ITSELF, tmp_path) as broker:
        broker.kill()
        assert (tmp_path / "data" / FILE_NAME).exists()
        assert AdminSocketClient.connect(str(tmp_path / "data")) is None
        assert compact(tmp_path / "data", "absent").stderr == "kcompat: there is no topic absent\n"
        broker.start()
        assert compact(tmp_path / "data", "absent").stderr == "kcompat: there is no topic absent\n"
        assert broker.is_running()


def test_a_path_too_long_for_the_address_of_a_socket(tmp_path: Path) -> None:
    directory = tmp_path / ("d" * 120)
    with Broker(data_dir=directory, config=NEVER_BY_ITSELF):
        assert (directory / FILE_NAME).is_socket()
        assert compact(directory, "absent").stderr == "kcompat: there is no topic absent\n"
    assert not (directory / FILE_NAME).exists()


def test_a_file_of_that_name_that_is_no_socket_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE_NAME).write_text("mine")
    with Broker(data_dir=tmp_path):
        assert "no administration socket" in caplog.text
    assert (tmp_path / FILE_NAME).read_text() == "mine"


def test_a_broker_that_stops_meanwhile(tmp_path: Path) -> None:
    slow = {"log.cleaner.io.max.bytes.per.second": "1000", **NEVER_BY_ITSELF}
    with Broker(data_dir=tmp_path, config=slow) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with RawClient((host, int(port))) as client:
            create_compacted_topic(client, "t", segment_bytes=100_000)
            # far more than the cleaner reads between two looks at its rate
            fill_with_long_values(client, "t", 50, 10_000)
        admin = AdminSocketClient.connect(str(tmp_path))
        assert admin is not None
        with admin:
            answers = admin.ask("compact", "t", Compacted | Progress)
            assert isinstance(next(answers), Progress)
            broker.stop()
            with pytest.raises(ConnectionError, match="the broker has stopped"):
                list(answers)


# -- hostile input ---------------------------------------------------------------------------------------


class Echoed(msgspec.Struct, tag=True):
    text: str


async def echo(text: str) -> AsyncGenerator[msgspec.Struct, None]:
    for _ in range(3):
        yield Echoed(text)


async def for_ever(text: str) -> AsyncGenerator[msgspec.Struct, None]:
    while True:
        yield Echoed(text * 10_000)


@pytest.fixture
async def admin(tmp_path: Path) -> AsyncIterator[AdminSocket]:
    admin = AdminSocket(str(tmp_path), {"echo": echo, "for ever": for_ever})
    await admin.open()
    yield admin
    await admin.close()


async def say(directory: Path, data: bytes) -> list[Any]:
    """Return the answers to these bytes before the connection is closed."""
    reader, writer = await asyncio.open_unix_connection(directory / FILE_NAME)
    writer.write(data)
    writer.write_eof()
    answers = (await asyncio.wait_for(reader.read(), 10)).splitlines()
    writer.close()
    return [json.loads(answer) for answer in answers]


async def test_several_requests_on_one_connection(tmp_path: Path, admin: AdminSocket) -> None:
    answers = await say(tmp_path, b'{"echo":"a"}\n{"echo":"\xc3\xa4"}\n')
    assert answers == [
        *[{"type": "Echoed", "text": "a"}] * 3, {"type": "Done"},
        *[{"type": "Echoed", "text": "ä"}] * 3, {"type": "Done"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [b"", b"\x00\xff", b"compact", b"{}", b'{"echo":1}', b'{"a":"","b":""}', b'{"no":"such"}', b"[" * 9999],
)
async def test_lines_that_are_no_requests(tmp_path: Path, admin: AdminSocket, line: bytes) -> None:
    (answer,) = await say(tmp_path, line + b"\n" + b'{"echo":"never read"}\n')
    assert answer["type"] == "Refused"
    assert answer["reason"].startswith("not a request of this broker: ")


@pytest.mark.parametrize("data", [b"", b'{"echo":"cut', b"x" * (MAX_LINE * 3), b"x" * (MAX_LINE * 3) + b"\n"])
async def test_bytes_that_are_no_lines(tmp_path: Path, admin: AdminSocket, data: bytes) -> None:
    with suppress(ConnectionError):  # it is closed before all of it was read
        assert await say(tmp_path, data) == []
    assert len(await say(tmp_path, b'{"echo":"a"}\n')) == 4


async def test_one_that_does_not_read_holds_up_nobody_and_not_the_end(
    tmp_path: Path, admin: AdminSocket
) -> None:
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.connect(str(tmp_path / FILE_NAME))
        deaf.sendall(b'{"for ever":"x"}\n')
        assert len(await say(tmp_path, b'{"echo":"a"}\n')) == 4
        await asyncio.wait_for(admin.close(), 10)
    assert not (tmp_path / FILE_NAME).exists()


@contextmanager
def idle_connections(directory: Path, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(count)]
        for each in sockets:
            each.connect(str(directory / FILE_NAME))
        yield sockets


async def test_too_many_connections(tmp_path: Path, admin: AdminSocket) -> None:
    with idle_connections(tmp_path, MAX_CONNECTIONS) as idle:
        with suppress(ConnectionError):  # it is closed before the request was read
            assert await say(tmp_path, b'{"echo":"a"}\n') == []
        idle[0].sendall(b'{"echo":"a"}\n')
        idle[0].shutdown(socket.SHUT_WR)
        while await asyncio.to_thread(idle[0].recv, 1000):  # the answers, and the end
            pass
        assert len(await say(tmp_path, b'{"echo":"a"}\n')) == 4


async def test_a_silent_connection_is_closed(tmp_path: Path) -> None:
    admin = AdminSocket(str(tmp_path), {}, idle_s=0.05)
    await admin.open()
    reader, writer = await asyncio.open_unix_connection(tmp_path / FILE_NAME)
    assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()
    await admin.close()


async def test_it_is_not_for_others(tmp_path: Path, admin: AdminSocket) -> None:
    assert stat.S_IMODE(os.lstat(tmp_path / FILE_NAME).st_mode) == 0o600
