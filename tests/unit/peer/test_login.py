"""The login of a client to another broker, on a network in memory and on virtual time."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec
import pytest

from kcompat.net.answers import CLOSE
from kcompat.peer.client import PeerSecurity
from kcompat.peer.errors import PeerFault
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kcompat.security.sasl.plain import PlainClient
from support.client_scene import SETTINGS, Scene, play
from support.outcomes import outcome_of

if TYPE_CHECKING:
    from support.scripted_broker import Asked

PLAIN = msgspec.structs.replace(SETTINGS, security=PeerSecurity(mechanism=PlainClient("broker", "secret")))
TOKEN = b"\0broker\0secret"


def granting(lifetime_ms: int = 0) -> list[object]:
    """Return the responses to one login, in order."""
    return [
        SaslHandshakeResponse(mechanisms=["PLAIN"]),
        SaslAuthenticateResponse(session_lifetime_ms=lifetime_ms),
    ]


class Door:
    """A broker that answers logins as it is told, and heartbeats once a login was granted."""

    def __init__(self, *logins: list[object]) -> None:
        self._logins = [response for login in logins for response in login]
        self.requests: list[ApiKey] = []
        self.tokens: list[bytes] = []

    def __call__(self, asked: Asked) -> object:
        self.requests.append(asked.key)
        if asked.key is ApiKey.HEARTBEAT:
            return HeartbeatResponse(error_code=7)
        if asked.key is ApiKey.SASL_AUTHENTICATE:
            self.tokens.append(asked.request.auth_bytes)
        return self._logins.pop(0)


LOGIN = [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE]


def test_a_client_logs_in_before_its_first_request() -> None:
    door = Door(granting())

    async def scene(scene: Scene) -> None:
        assert await scene.beat() == 7
        assert await scene.beat() == 7
        assert door.requests == [*LOGIN, ApiKey.HEARTBEAT, ApiKey.HEARTBEAT]
        assert door.tokens == [TOKEN]

    play(scene, door, settings=PLAIN)


@pytest.mark.parametrize(
    "refusal",
    [
        [SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["GSSAPI"])],
        [
            SaslHandshakeResponse(),
            SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "Authentication failed"),
        ],
        [SaslHandshakeResponse(), SaslAuthenticateResponse(9999)],
    ],
)
def test_a_refused_login_fails_the_calls_and_is_logged_without_the_password(
    refusal: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    door = Door(refusal, granting())

    async def scene(scene: Scene) -> None:
        assert await scene.beat() is PeerFault.NOT_LOGGED_IN
        assert await scene.beat() == 7  # after a pause
        assert scene.attempts() == 2

    play(scene, door, settings=PLAIN)
    assert sum("the login is refused: " in message for message in caplog.messages) == 1
    assert "secret" not in caplog.text


def test_a_peer_without_sasl_requests_is_not_logged_in_to() -> None:
    async def scene(scene: Scene) -> None:
        assert await scene.beat() is PeerFault.NOT_LOGGED_IN
        assert scene.broker.asked == []

    served = {ApiKey.API_VERSIONS: range(5), ApiKey.HEARTBEAT: range(5)}
    play(scene, Door(), served, PLAIN)


def test_a_peer_that_closes_instead_of_answering_ends_the_attempt() -> None:
    async def scene(scene: Scene) -> None:
        assert await scene.beat() is PeerFault.CLOSED

    play(scene, lambda _: CLOSE, settings=PLAIN)


def test_a_peer_that_never_ends_the_login_is_given_up() -> None:
    class Endless:
        name = "ENDLESS"

        def begin(self) -> Endless:
            return self

        def first(self) -> bytes:
            return b""

        def respond(self, token: bytes) -> bytes:
            return token

    def answer(asked: Asked) -> object:
        shakes = asked.key is ApiKey.SASL_HANDSHAKE
        return SaslHandshakeResponse() if shakes else SaslAuthenticateResponse()

    async def scene(scene: Scene) -> None:
        assert await scene.beat() is PeerFault.NOT_LOGGED_IN
        assert len(scene.broker.asked) < 20

    endless = PeerSecurity(mechanism=Endless())
    play(scene, answer, settings=msgspec.structs.replace(SETTINGS, security=endless))


def test_a_login_that_is_not_answered_ends_with_the_setup_timeout() -> None:
    async def scene(scene: Scene) -> None:
        assert await scene.beat(60_000) is PeerFault.NO_ANSWER

    play(scene, lambda _: Promise[SaslHandshakeResponse](), settings=PLAIN)


def test_the_login_is_repeated_on_the_connection_before_the_session_ends() -> None:
    door = Door(granting(10_000), granting(20_000), granting())

    async def scene(scene: Scene) -> None:
        found: list[None] = []
        scene.client.stay_connected(lambda _fault: None, lambda: found.append(None))
        assert await scene.beat() == 7
        await asyncio.sleep(8.4)
        assert door.requests == [*LOGIN, ApiKey.HEARTBEAT]
        await asyncio.sleep(1.2)
        assert door.requests == [*LOGIN, ApiKey.HEARTBEAT, *LOGIN]
        await asyncio.sleep(20)
        assert await scene.beat() == 7
        await asyncio.sleep(100)
        assert door.requests == [*LOGIN, ApiKey.HEARTBEAT, *LOGIN, *LOGIN, ApiKey.HEARTBEAT]
        assert (scene.attempts(), len(found)) == (1, 1)

    play(scene, door, settings=PLAIN)


def test_requests_wait_while_the_login_is_repeated() -> None:
    shaken = Promise[SaslHandshakeResponse]()
    door = Door(granting(10_000), [shaken, SaslAuthenticateResponse()])

    async def scene(scene: Scene) -> None:
        assert await scene.beat() == 7
        await asyncio.sleep(9.6)
        answered = scene.client.call(HeartbeatRequest("group"), 10_000)
        await asyncio.sleep(0.1)
        assert door.requests[-1] is ApiKey.SASL_HANDSHAKE
        shaken.complete(SaslHandshakeResponse())
        response = await outcome_of(answered)
        assert isinstance(response, HeartbeatResponse)
        assert scene.attempts() == 1

    play(scene, door, settings=PLAIN)


def test_a_repeated_login_that_is_refused_leads_to_a_new_connection() -> None:
    refusal: list[object] = [SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE)]
    door = Door(granting(10_000), refusal, granting())

    async def scene(scene: Scene) -> None:
        assert await scene.beat() == 7
        await asyncio.sleep(11)
        assert await scene.beat() == 7
        assert scene.attempts() == 2

    play(scene, door, settings=PLAIN)
