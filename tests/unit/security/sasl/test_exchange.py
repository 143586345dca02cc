from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.principals import Principal
from kcompat.security.sasl.exchange import (
    PARSED,
    ExchangeState,
    LoginRefusedError,
    LoginSession,
    OfferedMechanism,
    SaslExchange,
)
from kcompat.security.sasl.mechanism import Login
from kcompat.security.sasl.plain import Plain
from support.sasl import (
    Rounds,
    decoded,
    frame_of,
    handshake_frame,
    plain_token,
    token_frame,
    versions_frame,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = 1_700_000_000_000
ALICE = plain_token("alice", "secret")


def offered(max_session_ms: int = 0) -> Mapping[str, OfferedMechanism]:
    mechanisms = (Plain({"alice": "secret", "bob": "other"}), Rounds())
    return {each.name: OfferedMechanism(each, max_session_ms) for each in mechanisms}


def list_versions(version: int, request: ApiVersionsRequest | None) -> ApiVersionsResponse:
    if request is None:
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    bad = version >= 3 and request.client_software_name != "me"
    return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST if bad else 0)


class Play:
    """An exchange, and what a client sends in it."""

    def __init__(
        self, max_session_ms: int = 0, previous: LoginSession | None = None, now_ms: int = NOW
    ) -> None:
        self.exchange = SaslExchange(offered(max_session_ms), list_versions, previous)
        self.now_ms = now_ms

    def send(self, frame: memoryview | bytes | bytearray) -> bytes:
        return b"".join(self.exchange.receive(memoryview(bytearray(frame)), self.now_ms))

    def state(self) -> ExchangeState:
        return self.exchange.state

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> Any:
        return decoded([self.send(handshake_frame(mechanism, version))], SaslHandshakeRequest, version)

    def authenticate(self, token: bytes, version: int = 2) -> Any:
        return decoded([self.send(token_frame(token, version))], SaslAuthenticateRequest, version)

    def closes(self, frame: memoryview | bytes | bytearray) -> None:
        """The frame ends the connection at once, and so does the next one."""
        with pytest.raises(ProtocolViolation):
            self.send(frame)
        assert self.exchange.state is ExchangeState.FAILED

    def refuses(self, frame: memoryview | bytes | bytearray) -> LoginRefusedError:
        with pytest.raises(LoginRefusedError) as refusal:
            self.send(frame)
        assert self.exchange.state is ExchangeState.FAILED
        assert self.exchange.session is None
        return refusal.value


def refused_response(refusal: LoginRefusedError, request_type: type[Any], version: int) -> Any:
    assert refusal.response is not None
    return decoded(refusal.response, request_type, version)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_client_logs_in(version: int) -> None:
    play = Play()
    assert decoded([play.send(versions_frame(2))], ApiVersionsRequest, 2).error_code == 0
    assert play.state() is ExchangeState.HANDSHAKE
    answer = play.handshake()
    assert (answer.error_code, answer.mechanisms) == (0, ["PLAIN", "ROUNDS"])
    assert play.state() is ExchangeState.TOKENS
    welcome = play.authenticate(ALICE, version)
    assert (welcome.error_code, welcome.error_message, welcome.auth_bytes) == (0, "", b"")
    assert welcome.session_lifetime_ms == 0
    assert play.state() is ExchangeState.COMPLETE
    assert play.exchange.session == LoginSession(Login(Principal("User", "alice")), "PLAIN", None)


def test_a_client_need_not_ask_for_the_versions() -> None:
    play = Play()
    play.handshake()
    play.authenticate(ALICE)
    assert play.exchange.session is not None


def test_a_mechanism_may_take_several_rounds() -> None:
    play = Play()
    play.handshake("ROUNDS")
    for _ in range(3):
        assert play.authenticate(b"more").auth_bytes == b"go on"
        assert play.exchange.session is None
    assert play.authenticate(b"carol").auth_bytes == b"welcome"
    assert play.exchange.session is not None
    assert play.exchange.session.login.principal.name == "carol"


def test_tokens_have_no_header_behind_a_handshake_of_version_0() -> None:
    play = Play()
    play.handshake("ROUNDS", version=0)
    assert play.send(b"more") == b"\0\0\0\5go on"
    assert play.send(b"carol") == b"\0\0\0\7welcome"
    assert play.state() is ExchangeState.COMPLETE


def test_an_empty_raw_token_is_a_token() -> None:
    play = Play()
    play.handshake(version=0)
    assert play.send(ALICE) == b"\0\0\0\0"


def test_a_refused_raw_token_is_not_answered() -> None:
    play = Play()
    play.handshake(version=0)
    assert play.refuses(b"\0alice\0wrong").response is None


@pytest.mark.parametrize(("version", "software"), [(-1, "me"), (6, "me"), (99, "me"), (3, "-x"), (5, "")])
def test_a_refused_api_versions_may_be_repeated(version: int, software: str) -> None:
    play = Play()
    frame = bytearray(versions_frame(max(3, min(5, version)), software))
    struct.pack_into(">h", frame, 2, version)
    for _ in range(3):
        play.send(frame)
        assert play.state() is ExchangeState.FIRST
    play.send(versions_frame(0))
    assert play.state() is ExchangeState.HANDSHAKE


def test_a_second_api_versions_closes() -> None:
    play = Play()
    play.send(versions_frame(0))
    play.closes(versions_frame(0))


@pytest.mark.parametrize("state", ["first", "versions"])
@pytest.mark.parametrize("key", sorted(API_FACTS))
def test_no_other_request_is_parsed_before_the_handshake(key: int, state: str) -> None:
    if key in (ApiKey.SASL_HANDSHAKE, ApiKey.API_VERSIONS):
        return
    play = Play()
    if state == "versions":
        play.send(versions_frame(0))
    play.closes(struct.pack(">hhih", key, 0, 1, -1) + b"\xff" * 100)


@pytest.mark.parametrize("mechanism", ["GSSAPI", "plain", "", "SCRAM-SHA-256"])
@pytest.mark.parametrize("version", [0, 1])
def test_an_unknown_mechanism_is_refused_with_the_list(mechanism: str, version: int) -> None:
    answer = refused_response(
        Play().refuses(handshake_frame(mechanism, version)), SaslHandshakeRequest, version
    )
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert answer.mechanisms == ["PLAIN", "ROUNDS"]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_wrong_password_gets_the_message_of_the_mechanism(version: int) -> None:
    play = Play()
    play.handshake()
    refusal = play.refuses(token_frame(b"\0alice\0guessed", version))
    answer = refused_response(refusal, SaslAuthenticateRequest, version)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"
    assert "guessed" not in str(refusal)


def test_a_malformed_token_gets_the_general_message() -> None:
    play = Play()
    play.handshake()
    answer = refused_response(play.refuses(token_frame(b"alice")), SaslAuthenticateRequest, 2)
    assert answer.error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism PLAIN"
    )


@pytest.mark.parametrize(
    "request_", [HeartbeatRequest(), SaslHandshakeRequest(mechanism="PLAIN"), ApiVersionsRequest()]
)
def test_another_request_instead_of_a_token_is_an_illegal_state(request_: Any) -> None:
    play = Play()
    play.handshake()
    refusal = play.refuses(frame_of(request_, 0))
    assert refused_response(refusal, type(request_), 0).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_an_api_versions_of_an_unknown_version_instead_of_a_token_is_answered_in_version_0() -> None:
    play = Play()
    play.handshake()
    refusal = play.refuses(struct.pack(">hhi", ApiKey.API_VERSIONS, 99, 7))
    assert refused_response(refusal, ApiVersionsRequest, 0).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_a_response_without_an_error_code_is_not_sent() -> None:
    play = Play()
    play.handshake()
    assert play.refuses(frame_of(MetadataRequest(), 4)).response is None


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"\0" * 100,
        struct.pack(">hhih", ApiKey.SASL_HANDSHAKE, 2, 1, -1) + b"\0\5PLAIN",
        struct.pack(">hhih", ApiKey.SASL_HANDSHAKE, -1, 1, -1) + b"\0\5PLAIN",
        struct.pack(">hhih", ApiKey.SASL_HANDSHAKE, 1, 1, -1) + b"\0\6PLAIN",
        struct.pack(">hhih", ApiKey.SASL_HANDSHAKE, 1, 1, 5),
        struct.pack(">hhih", ApiKey.API_VERSIONS, 3, 1, -1) + b"\xff\xff\xff\xff\xff",
    ],
)
def test_garbage_closes_at_once(frame: bytes) -> None:
    Play().closes(frame)


@pytest.mark.parametrize("version", [-1, 3, 99])
def test_a_token_in_an_unknown_version_closes_at_once(version: int) -> None:
    play = Play()
    play.handshake()
    frame = bytearray(token_frame(ALICE, 1))
    struct.pack_into(">h", frame, 2, version)
    play.closes(frame)


# Sessions that end


@pytest.mark.parametrize(
    ("expiry_ms", "max_session_ms", "lifetime_ms"),
    [
        (None, 0, 0),
        (None, 5000, 5000),
        (3000, 0, 3000),
        (3000, 5000, 3000),
        (9000, 5000, 5000),
        (-1000, 5000, 0),
        (-1000, 0, 0),
        (None, -1, 0),
    ],
)
def test_a_session_ends_with_the_credential_or_with_the_limit(
    expiry_ms: int | None, max_session_ms: int, lifetime_ms: int
) -> None:
    play = Play(max_session_ms)
    play.handshake("ROUNDS")
    token = b"carol" if expiry_ms is None else b"carol %d" % (NOW + expiry_ms)
    assert play.authenticate(token).session_lifetime_ms == lifetime_ms
    session = play.exchange.session
    assert session is not None
    if expiry_ms is None and max_session_ms <= 0:
        assert session.lifetime_ms is None
        assert not session.has_ended(10**12)
        assert not session.may_renew(0)
    else:
        assert not session.has_ended(lifetime_ms)
        assert session.has_ended(lifetime_ms + 1)


def session_of(name: str = "alice", mechanism: str = "PLAIN") -> LoginSession:
    return LoginSession(Login(Principal("User", name)), mechanism, 1000, renewed_at_ms=7000)


@pytest.mark.parametrize("version", [0, 1])
def test_a_session_is_renewed_by_the_same_principal_and_mechanism(version: int) -> None:
    play = Play(5000, session_of(), NOW + 900)
    play.handshake(version=version)
    play.send(token_frame(ALICE) if version else ALICE)
    assert play.exchange.session == LoginSession(
        Login(Principal("User", "alice")), "PLAIN", 5000, renewed_at_ms=7000
    )


def test_a_renewal_begins_with_the_handshake() -> None:
    Play(5000, session_of()).closes(versions_frame(0))


def test_a_renewal_by_another_principal_is_refused() -> None:
    play = Play(5000, session_of())
    play.handshake()
    refusal = play.refuses(token_frame(plain_token("bob", "other")))
    assert refused_response(refusal, SaslAuthenticateRequest, 2).error_message == (
        "Cannot change principals during re-authentication from User.alice: User.bob"
    )


def test_a_failed_renewal_says_that_it_is_one() -> None:
    play = Play(5000, session_of())
    play.handshake()
    answer = refused_response(play.refuses(token_frame(b"")), SaslAuthenticateRequest, 2)
    assert "during re-authentication due" in answer.error_message


def test_a_renewal_by_another_mechanism_is_refused_at_its_token() -> None:
    play = Play(5000, session_of())
    assert play.handshake("ROUNDS").error_code == 0
    assert play.refuses(token_frame(b"alice")).response is None


def test_a_renewal_by_an_unknown_mechanism_closes_at_once() -> None:
    Play(5000, session_of()).closes(handshake_frame("GSSAPI"))


def test_a_session_is_renewed_at_most_once_a_second() -> None:
    session = LoginSession(Login(Principal("User", "alice")), "PLAIN", 10_000)
    assert session.may_renew(NOW)
    session.renewed_at_ms = NOW
    assert not session.may_renew(NOW + 999)
    assert session.may_renew(NOW + 1000)


# Any frame in any state


def test_the_table_names_the_states_whose_frames_have_a_header() -> None:
    headless = {
        ExchangeState.RAW_TOKENS,
        ExchangeState.OTHER_MECHANISM,
        ExchangeState.COMPLETE,
        ExchangeState.FAILED,
    }
    assert set(ExchangeState) == set(PARSED) | headless
    assert not set(PARSED) & headless


requests = st.builds(
    lambda key, version, body: struct.pack(">hhih", key, version, 1, -1) + body,
    st.sampled_from([*API_FACTS, 1000, -1]),
    st.integers(-1, 6),
    st.binary(max_size=60),
)
frames = st.one_of(
    requests,
    st.binary(max_size=60),
    st.sampled_from([
        bytes(versions_frame(0)), bytes(handshake_frame()), bytes(handshake_frame(version=0)),
        bytes(handshake_frame("ROUNDS")), bytes(token_frame(b"more")), bytes(token_frame(b"\0alice\0wrong")),
        b"more",
    ]),
)  # fmt: skip


@given(st.lists(frames, max_size=6), st.booleans())
def test_no_sequence_of_frames_without_the_password_logs_in(sequence: list[bytes], renews: bool) -> None:
    play = Play(5000, session_of() if renews else None)
    for frame in sequence:
        try:
            play.send(frame)
        except (ProtocolViolation, LoginRefusedError):
            assert play.state() is ExchangeState.FAILED
            return
        if play.exchange.session is not None:
            assert play.exchange.session.mechanism == "ROUNDS"
            return


@pytest.mark.parametrize("key", [ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE])
def test_the_requests_of_a_login_have_decoders(key: ApiKey) -> None:
    assert request_class(key).api_key == key
