"""Connections through TLS: their handshake, their frames, and what peers may do to them."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import struct
import tempfile
from contextlib import AsyncExitStack

import pytest

from kcompat.net.limits import Limits
from kcompat.net.sizes import KIB, MIB
from kcompat.security.principals import ANONYMOUS, Principal
from support.raw_peer import ScriptedHandler, framed, peer_of, serving, until
from support.tls_authority import Authority

pytestmark = pytest.mark.usefixtures("either_poll")

AUTHORITY = Authority()


class FilePart:
    """A part of a file, as an answer has it."""

    def __init__(self, file, position, length):
        self.file, self.position, self.length = file, position, length

    def fileno(self):
        return self.file.fileno()

    def __len__(self):
        return self.length


async def closed_for(server, reason: str) -> None:
    """Wait until a connection has been closed for a reason."""
    await until(lambda: server.hub.closed[reason])


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("size", [1, 16 * KIB - 4, 16 * KIB - 3, 100_000, 3 * MIB])
async def test_a_frame_of_any_size_comes_and_goes(version, size):
    context = AUTHORITY.client_context()
    context.minimum_version = context.maximum_version = version
    handler = ScriptedHandler()
    async with serving(handler, tls=AUTHORITY.server()) as server, peer_of(server, ssl=context) as peer:
        body = bytes(range(256)) * (size // 256 + 1)
        for _ in range(3):
            peer.ask(body[:size])
            assert await peer.frame() == body[:size]
        assert handler.connections[0].principal == ANONYMOUS


async def test_parts_of_files_and_buffers_arrive_in_order():
    with tempfile.TemporaryFile() as file:
        content = bytes(range(251)) * 20_000
        file.write(content)
        file.flush()
        parts = [FilePart(file, 3, 2 * MIB), b"between", FilePart(file, 100, 20_000), bytes(70_000)]
        expected = content[3 : 3 + 2 * MIB] + b"between" + content[100:20_100] + bytes(70_000)
        answer = [struct.pack(">i", len(expected)), *parts]
        handler = ScriptedHandler(lambda *_: answer)
        async with (
            serving(handler, tls=AUTHORITY.server()) as server,
            peer_of(server, ssl=AUTHORITY.client_context()) as peer,
        ):
            peer.ask(b"one", b"two")
            assert await peer.frames(2) == [expected, expected]


async def test_many_frames_in_one_record_are_all_answered():
    handler = ScriptedHandler()
    async with (
        serving(handler, tls=AUTHORITY.server()) as server,
        peer_of(server, ssl=AUTHORITY.client_context()) as peer,
    ):
        bodies = [b"%d" % number for number in range(3000)]
        peer.ask(*bodies)
        assert await peer.frames(3000) == bodies


async def test_a_muted_connection_serves_what_openssl_holds_when_it_may():
    """The rest of a record has been read from the socket: nothing there tells that it waits."""
    handler = ScriptedHandler(lambda connection, frame: (connection.mute(20), [framed(bytes(frame))])[1])
    limits = Limits()
    async with (
        serving(handler, limits, tls=AUTHORITY.server()) as server,
        peer_of(server, ssl=AUTHORITY.client_context()) as peer,
    ):
        server.hub.read_size = 100  # so that a record is taken in parts
        bodies = [bytes([number]) * 60 for number in range(20)]
        peer.ask(*bodies)
        assert await peer.frames(20) == bodies


async def test_frames_before_the_end_of_a_stream_are_served():
    handler = ScriptedHandler()
    async with (
        serving(handler, tls=AUTHORITY.server()) as server,
        peer_of(server, ssl=AUTHORITY.client_context()) as peer,
    ):
        peer.ask(b"first", b"last")
        await peer.close()
        await closed_for(server, "disconnected")
        assert handler.frames == [b"first", b"last"]


async def test_the_end_is_announced_to_the_peer():
    handler = ScriptedHandler(lambda connection, _: connection.close("enough"))
    async with (
        serving(handler, tls=AUTHORITY.server()) as server,
        peer_of(server, ssl=AUTHORITY.client_context()) as peer,
    ):
        peer.ask(b"end it")
        assert await peer.reader.read() == b""  # a cut without close_notify would be an error of asyncio


# Handshakes


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"])
async def test_a_stalled_handshake_ends(sent, caplog):
    limits = Limits(handshake_deadline_s=0.2)
    async with serving(ScriptedHandler(), limits, tls=AUTHORITY.server()) as server, peer_of(server) as peer:
        peer.send(sent)
        assert await peer.rest() == b""
        assert server.hub.closed == {"unfinished handshake": 1}
    assert "127.0.0.1: connection closed: unfinished handshake" in caplog.messages


async def test_a_finished_handshake_has_no_deadline():
    limits = Limits(handshake_deadline_s=0.1)
    async with (
        serving(ScriptedHandler(), limits, tls=AUTHORITY.server()) as server,
        peer_of(server, ssl=AUTHORITY.client_context()) as peer,
    ):
        await asyncio.sleep(0.3)  # the deadline and two sweeps
        peer.ask(b"still there")
        assert await peer.frame() == b"still there"


@pytest.mark.parametrize(
    "sent", [framed(b"\0\x12\0\0\0\0\0\1\0\1a"), b"GET / HTTP/1.0\r\n\r\n", bytes(100), b"\xff" * 100]
)
async def test_a_client_without_tls_is_named_in_the_log(sent, caplog):
    async with serving(ScriptedHandler(), tls=AUTHORITY.server()) as server, peer_of(server) as peer:
        peer.send(sent)
        answer = await peer.rest()
        assert answer[:3] == b"\x15\x03\x03", "an alert"
        assert len(answer) == 7
    assert caplog.messages == [
        "127.0.0.1: connection closed: the client does not speak TLS, and listener SSL does"
    ]


async def test_tls_on_a_plain_listener_is_named_in_the_log(caplog):
    caplog.set_level(logging.WARNING, "kcompat")
    async with serving(ScriptedHandler()) as server:
        with pytest.raises((ssl.SSLError, OSError)):
            async with peer_of(server, ssl=AUTHORITY.client_context()):
                pass
        await closed_for(server, "bad frame length")
    assert (
        "127.0.0.1: connection closed: the client speaks TLS, and listener PLAINTEXT does not"
        in caplog.messages
    )


async def test_an_old_version_is_refused_with_an_alert(caplog):
    settings = AUTHORITY.settings(protocols=("TLSv1.3",))
    context = AUTHORITY.client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with serving(ScriptedHandler(), tls=AUTHORITY.server(settings)) as server:
        with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"):
            async with peer_of(server, ssl=context):
                pass
        await closed_for(server, "failed handshake")
    assert "TLS handshake on listener SSL failed: unsupported protocol" in caplog.text


# Certificates of clients


async def test_a_certificate_names_its_client():
    handler = ScriptedHandler()
    leaf = AUTHORITY.client("alice", organization_unit_name="people")
    async with (
        serving(handler, tls=AUTHORITY.server(AUTHORITY.mutual())) as server,
        peer_of(server, ssl=AUTHORITY.client_context(leaf)) as peer,
    ):
        peer.ask(b"who am I")
        await peer.frame()
        principal = handler.connections[0].principal
        assert principal.type == "User"
        assert principal.name.startswith("CN=alice,OU=people,O=trustme v")


async def test_a_rule_maps_the_name():
    handler = ScriptedHandler()
    settings = AUTHORITY.mutual(mapping_rules="RULE:^CN=(.*?),.*$/$1/U,DEFAULT")
    async with (
        serving(handler, tls=AUTHORITY.server(settings)) as server,
        peer_of(server, ssl=AUTHORITY.client_context(AUTHORITY.client("alice"))) as peer,
    ):
        peer.ask(b"who am I")
        await peer.frame()
        assert handler.connections[0].principal == Principal("User", "ALICE")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_where_no_rule_applies_the_connection_is_closed_after_its_handshake(version, caplog):
    settings = AUTHORITY.mutual(mapping_rules="RULE:^CN=bob.*$/bob/")
    context = AUTHORITY.client_context(AUTHORITY.client("alice"))
    context.minimum_version = context.maximum_version = version
    async with (
        serving(ScriptedHandler(), tls=AUTHORITY.server(settings)) as server,
        peer_of(server, ssl=context) as peer,
    ):
        assert await peer.rest() == b""
        assert server.hub.closed == {"refused certificate": 1}
    assert "no rule of ssl.principal.mapping.rules applies to 'CN=alice," in caplog.text


@pytest.mark.parametrize("client_auth", ["none", "requested"])
async def test_a_client_may_come_without_a_certificate(client_auth):
    handler = ScriptedHandler()
    async with (
        serving(handler, tls=AUTHORITY.server(AUTHORITY.mutual(client_auth))) as server,
        peer_of(server, ssl=AUTHORITY.client_context()) as peer,
    ):
        peer.ask(b"who am I")
        await peer.frame()
        assert handler.connections[0].principal == ANONYMOUS


async def test_a_client_whose_name_cannot_be_told_is_not_let_in(caplog):
    class Faulty:
        wrap = AUTHORITY.server(AUTHORITY.mutual()).wrap

        def principal(self, _tls):
            raise RuntimeError("a fault in the mapping of names")

    handler = ScriptedHandler()
    context = AUTHORITY.client_context(AUTHORITY.client("alice"))
    async with serving(handler, tls=Faulty()) as server:
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await ask(server, context)
        await closed_for(server, "failed request")
        assert handler.frames == []
    assert "a fault in the mapping of names" in caplog.text


async def ask(server, context) -> None:
    async with peer_of(server, ssl=context) as peer:
        peer.ask(b"let me in")
        await peer.frame()


async def refusal_of(settings, context) -> str:
    """Why a client is refused; in TLS 1.3 it learns that after its handshake."""
    handler = ScriptedHandler()
    async with serving(handler, tls=AUTHORITY.server(settings)) as server:
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)) as caught:
            await ask(server, context)
        await closed_for(server, "failed handshake")
        assert not handler.frames
    return str(caught.value)


@pytest.mark.parametrize("client_auth", ["required", "requested"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_certificate_of_another_authority_is_refused(client_auth, version, caplog):
    context = AUTHORITY.client_context(Authority().client("alice"))
    context.minimum_version = context.maximum_version = version
    refusal = await refusal_of(AUTHORITY.mutual(client_auth), context)
    assert "ALERT_UNKNOWN_CA" in refusal
    assert "failed: the client's certificate is refused: " in caplog.text


async def test_an_expired_certificate_is_refused(caplog):
    from datetime import UTC, datetime, timedelta

    leaf = AUTHORITY.client("alice", not_after=datetime.now(UTC) - timedelta(days=1))
    refusal = await refusal_of(AUTHORITY.mutual(), AUTHORITY.client_context(leaf))
    assert "CERTIFICATE_EXPIRED" in refusal
    assert "failed: the client's certificate is refused: certificate has expired" in caplog.text


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_required_certificate_must_be_there(version, caplog):
    context = AUTHORITY.client_context()
    context.minimum_version = context.maximum_version = version
    refusal = await refusal_of(AUTHORITY.mutual(), context)
    assert "CERTIFICATE_REQUIRED" in refusal or "HANDSHAKE_FAILURE" in refusal
    assert "failed: peer did not return a certificate" in caplog.text


# Cost


async def test_connections_cost_little_memory_whatever_they_do():
    import gc
    from pathlib import Path

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    async with serving(ScriptedHandler(), tls=AUTHORITY.server()) as server, AsyncExitStack() as stack:
        gc.collect()
        before = resident()
        for _ in range(200):
            connected = socket.create_connection((server.listeners[0].host, server.listeners[0].port))
            stack.callback(connected.close)
            connected.sendall(b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03" + bytes(8000))
            await asyncio.sleep(0)
        await until(lambda: len(server.hub.connections) == 200)
        assert (resident() - before) / 200 < 100 * KIB
