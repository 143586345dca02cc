"""Readiness of sockets as kazoo's thread learns of it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from kcompat.store.zookeeper.loop_handler import LoopHandler

if TYPE_CHECKING:
    from collections.abc import Iterator


def without_certificates(protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AECDH-AES128-SHA:@SECLEVEL=0")
    return context


@pytest.fixture
def encrypted() -> Iterator[tuple[ssl.SSLSocket, ssl.SSLSocket]]:
    """Both ends of a connection through TLS."""
    near, far = socket.socketpair()
    client, server = map(without_certificates, (ssl.PROTOCOL_TLS_CLIENT, ssl.PROTOCOL_TLS_SERVER))
    with ThreadPoolExecutor() as pool:
        other = pool.submit(server.wrap_socket, far, server_side=True)
        with closing(client.wrap_socket(near)) as one, closing(other.result(10)) as two:
            yield one, two


@pytest.fixture
def plain() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


@pytest.fixture
def handler() -> Iterator[LoopHandler]:
    loop = asyncio.new_event_loop()
    yield LoopHandler(loop, without_certificates(ssl.PROTOCOL_TLS_CLIENT), 10)
    loop.close()


def test_what_came_in_one_record_with_what_was_read_is_there_to_be_read(
    handler: LoopHandler,
    encrypted: tuple[ssl.SSLSocket, ssl.SSLSocket],
    plain: tuple[socket.socket, socket.socket],
) -> None:
    """The kernel has nothing more of it. The other socket wakes kazoo for what it is to send."""
    (server, peer), (waker, woken) = encrypted, plain
    peer.sendall(b"answerwatch")
    assert server.recv(6) == b"answer"
    assert handler.select([server, woken], [], [], 0)[0] == [server]
    waker.send(b"\0")
    assert handler.select([server, woken], [], [], 0)[0] == [server, woken]
    assert server.recv(6) == b"watch"
    assert handler.select([server, woken], [], [], 0)[0] == [woken]
    peer.sendall(b"more")
    assert set(handler.select([server, woken], [], [], 5)[0]) >= {woken}
    assert handler.select([server], [], [], 5)[0] == [server]
