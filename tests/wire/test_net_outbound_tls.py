"""TLS connections of ours to other brokers, on real sockets, beside a server of asyncio."""

from __future__ import annotations

import asyncio
import random
import ssl
from contextlib import asynccontextmanager, suppress

import pytest

from kcompat.net.outbound import Ending
from kcompat.net.outbound_socket import SocketConnector
from kcompat.net.sizes import MIB
from support.heard import Heard
from support.raw_peer import framed, until
from support.tls_authority import Authority

OURS, OTHER = Authority(), Authority()


def server_context(*names, client_auth=False):
    """Return the context of a server with a certificate for these names; it may demand one of its clients."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    OURS.ca.issue_cert(*names).configure_cert(context)
    if client_auth:
        OURS.ca.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def echo(reader, writer):
    """Send back what comes, until the peer leaves."""
    with suppress(ConnectionError, ssl.SSLError):
        while data := await reader.read(MIB):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def serving(context, script=echo):
    """Yield the address of a TLS server."""
    server = await asyncio.start_server(script, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[:2]


def connect(address, tls, **options):
    heard = Heard()
    connector = SocketConnector(asyncio.get_running_loop())
    options = {"timeout_ms": 10_000, "max_frame": 20 * MIB, **options}
    return connector(address, heard, tls=tls, **options), heard


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_frames_of_every_size_go_out_and_come_back_in_order(version):
    sizes = (1, 10, 70_000, 3, 5 * MIB, 16_384, 16_385, 65_536, 2)
    bodies = [random.Random(size).randbytes(size) for size in sizes]
    tls = OURS.client_context()
    tls.minimum_version = tls.maximum_version = version
    async with serving(server_context("127.0.0.1")) as address:
        connection, heard = connect(address, tls)
        assert not heard.events  # nothing is heard before the call returns
        await until(lambda: heard.events)
        assert heard.events == ["connected"]
        for body in bodies:
            connection.send([framed(body)[:5], framed(body)[5:]])
        await until(lambda: len(heard.frames) == len(bodies))
        assert heard.frames == bodies
        connection.close()


async def test_many_small_frames_in_one_record_are_all_received():
    async with serving(server_context("127.0.0.1")) as address:
        connection, heard = connect(address, OURS.client_context())
        await until(lambda: heard.events)
        bodies = [number.to_bytes(2, "big") for number in range(20_000)]
        connection.send([framed(body) for body in bodies])
        await until(lambda: len(heard.frames) == len(bodies))
        assert heard.frames == bodies
        connection.close()


@pytest.mark.parametrize(
    ("names", "trusted"),
    [
        (("127.0.0.1",), OTHER),  # an authority that is not trusted
        (("other.example",), OURS),  # the certificate of another host
    ],
)
async def test_a_peer_with_another_certificate_is_not_connected_to(names, trusted):
    async with serving(server_context(*names)) as address:
        _, heard = connect(address, trusted.client_context())
        await until(lambda: heard.events)
        assert heard.events == [Ending.UNTRUSTED]


async def test_the_name_of_the_host_is_checked_only_if_the_context_says_so():
    tls = OURS.client_context()
    tls.check_hostname = False
    async with serving(server_context("other.example")) as address:
        connection, heard = connect(address, tls)
        await until(lambda: heard.events)
        assert heard.events == ["connected"]
        connection.close()


@pytest.mark.parametrize("shows_certificate", [True, False])
async def test_a_peer_may_demand_a_certificate(shows_certificate):
    tls = OURS.client_context(OURS.client() if shows_certificate else None)
    async with serving(server_context("127.0.0.1", client_auth=True)) as address:
        connection, heard = connect(address, tls)
        await until(lambda: heard.events)
        connection.send([framed(b"hello")])
        await until(lambda: len(heard.events) > 1)
        first, second = heard.events
        assert first == "connected"
        if shows_certificate:
            assert second == b"hello"
        else:  # with TLS 1.3 the client learns of it behind its own part of the handshake
            assert second in (Ending.UNTRUSTED, Ending.CLOSED, Ending.RESET)
        connection.close()


async def test_a_peer_that_does_not_speak_tls_or_leaves_is_no_connection():
    async def plain(reader, writer):
        await reader.read(10)
        writer.write(b"\0\0\0\4PONG")
        writer.close()

    async def leaving(_reader, writer):
        writer.transport.abort()

    for script, endings in ((plain, {Ending.UNTRUSTED}), (leaving, {Ending.CLOSED, Ending.RESET})):
        async with serving(None, script) as address:
            _, heard = connect(address, OURS.client_context())
            await until(lambda heard=heard: heard.events)
            assert set(heard.events) <= endings


async def test_a_peer_that_does_not_go_on_with_the_handshake_times_out():
    async def silent(reader, writer):
        await reader.read()
        writer.close()

    async with serving(None, silent) as address:
        connection, heard = connect(address, OURS.client_context(), timeout_ms=50)
        await until(lambda: heard.events)
        assert heard.events == [Ending.TIMED_OUT]
        connection.close()


async def test_the_end_of_the_peer_is_heard_behind_its_last_frame():
    async def one_frame(reader, writer):
        writer.write(framed(await reader.readexactly(4)))
        await writer.drain()
        writer.close()

    async with serving(server_context("127.0.0.1"), one_frame) as address:
        connection, heard = connect(address, OURS.client_context())
        await until(lambda: heard.events)
        connection.send([b"ping"])
        await until(lambda: len(heard.events) == 3)
        assert heard.events == ["connected", b"ping", Ending.CLOSED]
