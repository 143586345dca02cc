from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api.authentication import EXPIRED, LINGER_MS, REFUSED, LoginGate, LoginSettings
from kcompat.api.registry import SERVED
from kcompat.net.answers import CLOSE, Waiting
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.security.principals import ANONYMOUS, Principal
from kcompat.security.sasl.exchange import OfferedMechanism
from kcompat.security.sasl.plain import Plain
from support.asking import Client, Finalized, services_of
from support.current import current
from support.sasl import decoded, frame_of, handshake_frame, plain_token, token_frame, versions_frame
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from kcompat.net.answers import Answer, Connection

ALICE, BOB = plain_token("alice", "secret"), plain_token("bob", "other")
DELAY_MS = 100
HEARTBEAT = frame_of(HeartbeatRequest(), 0)


class Dispatcher:
    """Answers each frame with `served`."""

    max_frame: int | None = None

    def on_frame(self, _connection: Connection, _frame: memoryview) -> Answer:
        return [b"served"]

    def ends_wait(self, frame: memoryview) -> bool:
        return bytes(frame) == b"yes"


class Peer(Client):
    """A connection that may be muted and closed."""

    def __init__(self) -> None:
        super().__init__()
        self.muted_ms = 0.0
        self.closed = ""

    def mute(self, ms: float) -> None:
        self.muted_ms = ms

    def close(self, reason: str) -> None:
        self.closed = reason


class Scene:
    """A connection to a listener that offers PLAIN."""

    def __init__(self, max_session_ms: int = 0) -> None:
        self.clock = VirtualClock()
        self.client = Peer()
        self.dispatcher = Dispatcher()
        plain = Plain({"alice": "secret", "bob": "other"})
        settings = LoginSettings({"PLAIN": OfferedMechanism(plain, max_session_ms)}, 1000, DELAY_MS)
        services = services_of(served=SERVED, clock=self.clock, features=Finalized())
        self.client.handler = LoginGate(settings, services, self.dispatcher)

    def send(self, frame: memoryview) -> Any:
        handler: Any = self.client.handler
        return handler.on_frame(self.client, frame)

    def log_in(self, token: bytes = ALICE) -> Any:
        self.send(handshake_frame())
        return self.send(token_frame(token))

    def refused(self, answer: Any) -> Any:
        """The response to a refused login: it comes after the delay, the end of the connection later."""
        assert isinstance(answer, Waiting)
        self.clock.advance(DELAY_MS - 1)
        assert not current(answer.promise.done)
        self.clock.advance(1)
        assert answer.promise.done
        self.clock.advance(LINGER_MS - 1)
        assert current(self.client.closed) == ""
        self.clock.advance(1)
        assert self.client.closed == REFUSED
        assert self.client.muted_ms == inf
        return answer.promise.value


def test_a_client_that_has_logged_in_is_served_by_the_dispatcher_alone() -> None:
    scene = Scene()
    assert scene.client.principal is ANONYMOUS
    scene.log_in()
    assert scene.client.principal == Principal("User", "alice")
    assert scene.client.handler is scene.dispatcher
    assert scene.client.context is None


def test_the_versions_are_listed_before_the_login() -> None:
    scene = Scene()
    answer = decoded(scene.send(versions_frame(3)), ApiVersionsRequest, 3)
    assert {row.api_key for row in answer.api_keys} == {api.key for api in SERVED}
    assert decoded(Scene().send(versions_frame(3, "-")), ApiVersionsRequest, 3).error_code == (
        ErrorCode.INVALID_REQUEST
    )


def test_an_unknown_version_of_api_versions_is_answered_in_version_0() -> None:
    frame = versions_frame(5)
    frame[3] = 99
    answer = decoded(Scene().send(frame), ApiVersionsRequest, 0)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [row.api_key for row in answer.api_keys] == [18]


def test_a_wrong_password_is_answered_after_the_delay_and_closes() -> None:
    scene = Scene()
    response = scene.refused(scene.log_in(b"\0alice\0hunter2"))
    assert decoded(response, SaslAuthenticateRequest, 2).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert scene.client.principal is ANONYMOUS
    assert scene.client.complaints == ["login refused: unknown user or wrong password"]


def test_an_unknown_mechanism_is_answered_after_the_delay_and_closes() -> None:
    scene = Scene()
    response = scene.refused(scene.send(handshake_frame("GSSAPI")))
    assert decoded(response, SaslHandshakeRequest, 1).mechanisms == ["PLAIN"]


def test_a_refused_raw_token_closes_after_the_delay() -> None:
    scene = Scene()
    scene.send(handshake_frame(version=0))
    answer = scene.send(memoryview(b"\0alice\0hunter2"))
    scene.clock.advance(DELAY_MS - 1)
    assert scene.client.closed == ""
    scene.clock.advance(1)
    assert scene.client.closed == REFUSED
    assert scene.client.muted_ms == inf
    assert isinstance(answer, Waiting)
    assert not answer.promise.done


@pytest.mark.parametrize("frame", [HEARTBEAT, memoryview(b"GET / HTTP"), memoryview(b"x" * 1001)])
def test_what_is_no_login_closes_at_once(frame: memoryview) -> None:
    scene = Scene()
    assert scene.send(frame) is CLOSE
    assert scene.client.closes_behind == REFUSED
    assert len(scene.client.complaints) == 1


def test_a_large_frame_is_taken_only_by_the_dispatcher() -> None:
    scene = Scene()
    assert scene.client.handler is not None
    assert scene.client.handler.max_frame == 1000
    scene.log_in()
    assert scene.client.handler.max_frame is None


# Sessions that end


def test_requests_are_served_until_the_session_ends() -> None:
    scene = Scene(max_session_ms=5000)
    assert decoded(scene.log_in(), SaslAuthenticateRequest, 2).session_lifetime_ms == 5000
    assert scene.send(HEARTBEAT) == [b"served"]
    scene.clock.advance(5000)
    assert scene.send(HEARTBEAT) == [b"served"]
    scene.clock.advance(1)
    assert scene.send(HEARTBEAT) is CLOSE
    assert scene.client.closes_behind == EXPIRED


def test_a_step_of_the_wall_clock_ends_no_session_and_prolongs_none() -> None:
    scene = Scene(max_session_ms=5000)
    scene.log_in()
    scene.clock.set_back_ms = -3_600_000
    assert scene.send(HEARTBEAT) == [b"served"]
    scene.clock.set_back_ms = 3_600_000
    scene.clock.advance(5001)
    assert scene.send(HEARTBEAT) is CLOSE


def test_a_session_is_renewed_even_after_its_end() -> None:
    scene = Scene(max_session_ms=5000)
    scene.log_in()
    scene.clock.advance(60_000)
    assert decoded(scene.log_in(), SaslAuthenticateRequest, 2).session_lifetime_ms == 5000
    assert scene.send(HEARTBEAT) == [b"served"]
    assert scene.client.principal == Principal("User", "alice")


def test_a_second_renewal_within_a_second_is_an_ordinary_request() -> None:
    scene = Scene(max_session_ms=5000)
    scene.log_in()
    scene.log_in()
    assert scene.send(handshake_frame()) == [b"served"]
    scene.clock.advance(1000)
    assert decoded(scene.send(handshake_frame()), SaslHandshakeRequest, 1).error_code == 0


def test_a_renewal_by_another_user_closes_and_keeps_the_principal() -> None:
    scene = Scene(max_session_ms=5000)
    scene.log_in()
    response = scene.refused(scene.log_in(BOB))
    assert decoded(response, SaslAuthenticateRequest, 2).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert scene.client.principal == Principal("User", "alice")


def test_requests_in_the_middle_of_a_renewal_are_refused() -> None:
    scene = Scene(max_session_ms=5000)
    scene.log_in()
    scene.send(handshake_frame())
    response = scene.refused(scene.send(HEARTBEAT))
    assert decoded(response, HeartbeatRequest, 0).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_the_dispatcher_says_which_frame_ends_a_wait() -> None:
    scene = Scene(max_session_ms=5000)
    scene.log_in()
    assert scene.client.handler is not None
    assert scene.client.handler.ends_wait(memoryview(b"yes"))
    assert not scene.client.handler.ends_wait(memoryview(b"no"))
