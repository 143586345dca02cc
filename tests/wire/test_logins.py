"""Logins on a SASL listener, by raw frames to an embedded broker."""

from __future__ import annotations

import socket
import struct
import time
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.security.login_lines import BEARER_MODULE, PLAIN_MODULE
from support.bearer_tokens import unsecured_token
from support.eventually import limit_s
from support.ports import free_port
from support.raw_client import RawClient
from support.sasl import plain_token

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGIN = f'{PLAIN_MODULE} required user_alice="secret" user_bob="other";'
ALICE = plain_token("alice", "secret")
SESSION_MS = 400
DELAY_MS = 50


class Ports:
    """The ports of the listeners of the broker."""

    def __init__(self) -> None:
        self.plain, self.sasl, self.short = (free_port() for _ in range(3))


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    ports = Ports()
    config = {
        "listeners": f"PLAINTEXT://127.0.0.1:{ports.plain},SASL://127.0.0.1:{ports.sasl},"
        f"SHORT://127.0.0.1:{ports.short}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        "listener.name.sasl.oauthbearer.sasl.jaas.config": f"{BEARER_MODULE} required;",
        "listener.name.sasl.plain.sasl.jaas.config": LOGIN,
        "listener.name.short.plain.sasl.jaas.config": LOGIN,
        "listener.name.short.plain.connections.max.reauth.ms": str(SESSION_MS),
        "connection.failed.authentication.delay.ms": str(DELAY_MS),
        "sasl.server.max.receive.size": "100000",
    }
    with Broker(config=config):
        yield ports


class Peer(RawClient):
    """A raw connection that also sends and receives bytes as they are."""

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port))

    def send_raw(self, data: bytes) -> None:
        self._socket.sendall(data)

    def frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> Any:
        return self.call(SaslHandshakeRequest(mechanism=mechanism), version)

    def authenticate(self, token: bytes, version: int = 2) -> Any:
        return self.call(SaslAuthenticateRequest(auth_bytes=token), version)

    def log_in(self, token: bytes = ALICE) -> Any:
        self.handshake()
        return self.authenticate(token)

    def is_served(self) -> bool:
        return bool(self.call(MetadataRequest(topics=[]), 4).brokers)

    def ends(self) -> bytes:
        """All that still comes before the broker closes."""
        received = b""
        try:
            while piece := self._socket.recv(65536):
                received += piece
        except ConnectionResetError:
            pass
        return received


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_client_logs_in_and_is_served(ports: Ports, version: int) -> None:
    with Peer(ports.sasl) as peer:
        assert peer.call(ApiVersionsRequest(), 2).error_code == 0
        assert peer.handshake().mechanisms == ["PLAIN", "OAUTHBEARER"]
        assert peer.authenticate(ALICE, version).error_code == 0
        assert peer.is_served()
        assert peer.call(ApiVersionsRequest(), 2).error_code == 0


def test_raw_tokens_log_in(ports: Ports) -> None:
    with Peer(ports.sasl) as peer:
        assert peer.handshake(version=0).error_code == 0
        peer.send_raw(struct.pack(">i", len(ALICE)) + ALICE)
        assert peer.frame() == b""
        assert peer.is_served()


def test_requests_may_follow_the_login_without_a_pause(ports: Ports) -> None:
    with Peer(ports.sasl) as peer:
        peer.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        peer.send(SaslAuthenticateRequest(auth_bytes=ALICE), 2)
        peer.send(MetadataRequest(topics=[]), 4)
        peer.send(HeartbeatRequest(group_id="x" * 1000), 0)
        assert peer.receive(SaslHandshakeRequest, 1).error_code == 0
        assert peer.receive(SaslAuthenticateRequest, 2).error_code == 0
        assert peer.receive(MetadataRequest, 4).brokers
        assert peer.receive(HeartbeatRequest, 0).error_code


def test_frames_are_large_only_after_the_login(ports: Ports) -> None:
    with Peer(ports.sasl) as peer:
        peer.log_in()
        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="x" * 200)] * 1000)
        assert peer.call(request, 4).brokers
    for sent in (b"", b"x" * 1000, b"x" * 100_001):
        with Peer(ports.sasl) as peer:
            peer.send_raw(struct.pack(">i", 100_001) + sent)
            assert peer.ends() == b""


@pytest.mark.parametrize("token", [b"\0alice\0wrong", b"\0nobody\0secret", b"garbage"])
def test_a_refused_login_is_answered_later_and_closed(ports: Ports, token: bytes) -> None:
    with Peer(ports.sasl) as peer:
        peer.handshake()
        began = time.monotonic()
        assert peer.authenticate(token).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert peer.ends() == b""
        assert time.monotonic() - began >= DELAY_MS / 1000


def test_a_refused_raw_token_is_closed(ports: Ports) -> None:
    with Peer(ports.sasl) as peer:
        peer.handshake(version=0)
        peer.send_raw(b"\0\0\0\x0d\0alice\0wrong!")
        assert peer.ends() == b""


def test_an_unknown_mechanism_is_refused_with_the_list(ports: Ports) -> None:
    with Peer(ports.sasl) as peer:
        answer = peer.handshake("GSSAPI")
        assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert answer.mechanisms == ["PLAIN", "OAUTHBEARER"]
        assert peer.ends() == b""


@pytest.mark.parametrize("after_versions", [False, True])
def test_no_request_is_served_before_the_login(ports: Ports, after_versions: bool) -> None:
    with Peer(ports.sasl) as peer:
        if after_versions:
            peer.call(ApiVersionsRequest(), 2)
        peer.send(MetadataRequest(topics=[]), 4)
        assert peer.ends() == b""


def test_another_request_instead_of_a_token_is_an_illegal_state(ports: Ports) -> None:
    with Peer(ports.sasl) as peer:
        peer.handshake()
        assert peer.call(HeartbeatRequest(), 0).error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert peer.ends() == b""


def test_a_second_login_is_an_illegal_state_and_the_connection_stays(ports: Ports) -> None:
    with Peer(ports.sasl) as peer:
        peer.log_in()
        assert peer.handshake().error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert peer.authenticate(ALICE).error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert peer.is_served()


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0", b"\0\0\0\0"])
def test_other_protocols_are_closed(ports: Ports, garbage: bytes) -> None:
    with Peer(ports.sasl) as peer:
        peer.send_raw(garbage)
        assert peer.ends() == b""


def test_a_plaintext_listener_of_the_same_broker_asks_for_no_login(ports: Ports) -> None:
    with Peer(ports.plain) as peer:
        assert peer.is_served()
        assert peer.handshake().error_code == ErrorCode.ILLEGAL_SASL_STATE


# Bearer tokens


def bearer_message(expires_in_s: float) -> bytes:
    token = unsecured_token(sub="alice", exp=time.time() + expires_in_s)
    return f"n,,\x01auth=Bearer {token}\x01\x01".encode()


def test_the_session_of_a_bearer_ends_with_the_token(ports: Ports) -> None:
    with Peer(ports.sasl) as peer:
        peer.handshake("OAUTHBEARER")
        answer = peer.authenticate(bearer_message(60))
        assert (answer.error_code, answer.auth_bytes) == (0, b"")
        assert 50_000 < answer.session_lifetime_ms <= 61_000
        assert peer.is_served()


def test_an_expired_token_is_answered_in_json_and_fails_at_the_next_message(ports: Ports) -> None:
    with Peer(ports.sasl) as peer:
        peer.handshake("OAUTHBEARER")
        answer = peer.authenticate(bearer_message(-1))
        assert (answer.error_code, answer.auth_bytes) == (0, b'{"status":"invalid_token"}')
        answer = peer.authenticate(b"\x01")
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.error_message == '{"status":"invalid_token"}'
        assert peer.ends() == b""


# Sessions that end


def test_a_session_that_is_renewed_goes_on(ports: Ports) -> None:
    with Peer(ports.short) as peer:
        assert peer.log_in().session_lifetime_ms == SESSION_MS
        peer.handshake()
        assert peer.authenticate(ALICE, 1).session_lifetime_ms == SESSION_MS
        assert peer.is_served()


def test_the_first_request_after_the_end_of_a_session_closes(ports: Ports) -> None:
    with Peer(ports.short) as peer:
        peer.log_in()
        ended = time.monotonic() + SESSION_MS / 1000
        while time.monotonic() < ended + 0.05:
            peer._socket.settimeout(max(0.001, ended + 0.05 - time.monotonic()))
            with pytest.raises(TimeoutError):  # an idle connection stays open
                peer.frame()
        peer._socket.settimeout(limit_s(10))
        peer.send(MetadataRequest(topics=[]), 4)
        assert peer.ends() == b""


@pytest.mark.parametrize("user", ["bob", "alice"])
def test_a_renewal_by_another_user_or_with_a_wrong_password_closes(ports: Ports, user: str) -> None:
    with Peer(ports.short) as peer:
        peer.log_in()
        assert peer.log_in(plain_token(user, "other")).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert peer.ends() == b""


def test_a_second_renewal_within_a_second_is_an_illegal_state(ports: Ports) -> None:
    with Peer(ports.short) as peer:
        peer.log_in()
        peer.log_in()
        assert peer.handshake().error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert peer.is_served()


def test_a_client_that_leaves_in_the_middle_of_a_refusal_harms_nobody(ports: Ports) -> None:
    for _ in range(20):
        peer = Peer(ports.sasl)
        peer.handshake()
        peer.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"), 2)
        peer._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
    with Peer(ports.sasl) as peer:
        peer.log_in()
        assert peer.is_served()
