"""The exchange by which a client logs in on a SASL listener (Kafka's `SaslServerAuthenticator`), without IO.

```
FIRST ──ApiVersions──> HANDSHAKE        FIRST, HANDSHAKE ──SaslHandshake v1──> TOKENS
                                        FIRST, HANDSHAKE ──SaslHandshake v0──> RAW_TOKENS
TOKENS ──SaslAuthenticate──> TOKENS or COMPLETE         RAW_TOKENS ──a token──> RAW_TOKENS or COMPLETE
```

Only requests of the APIs in `PARSED` are decoded, with a low limit of values; of other requests only the
header is read. After a failure the connection must be closed.

A client with a session that ends logs in again on the same connection (KIP-368): `SaslExchange.renewing`
begins with the SaslHandshake. The principal and the mechanism must stay the same.
"""

from __future__ import annotations

import struct
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from msgspec import Struct

from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class, response_class
from kcompat.protocol.compiling import compile_framer, read_request_header
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.message import decoder
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kcompat.protocol.plan import plan_message
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.sasl.mechanism import SaslError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
    from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
    from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
    from kcompat.security.sasl.mechanism import Login, Mechanism, Negotiation

MAX_VALUES: Final = 10_000
"""Largest number of array elements and fields of a request before the client has logged in."""
RENEWAL_PAUSE_MS: Final = 1000
"""Shortest time between the beginnings of two renewals of a session."""

Response: TypeAlias = "list[bytes | bytearray | memoryview]"
"""The buffers of a whole response, with its length prefix."""


class ExchangeState(Enum):
    """The states of an exchange."""

    FIRST = auto()
    """No request was answered yet, except refused ApiVersions requests."""
    HANDSHAKE = auto()
    """The versions were listed, or a renewal of the session begins."""
    TOKENS = auto()
    """A mechanism is chosen; its tokens come in SaslAuthenticate requests."""
    RAW_TOKENS = auto()
    """A mechanism is chosen by SaslHandshake v0; its tokens come as frames without a header."""
    OTHER_MECHANISM = auto()
    """A renewal has chosen another mechanism than the first login; the next frame is refused."""
    COMPLETE = auto()
    """The client has logged in."""
    FAILED = auto()
    """The login is refused."""


PARSED: Final[Mapping[ExchangeState, frozenset[ApiKey]]] = MappingProxyType(
    {
        ExchangeState.FIRST: frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE}),
        ExchangeState.HANDSHAKE: frozenset({ApiKey.SASL_HANDSHAKE}),
        ExchangeState.TOKENS: frozenset({ApiKey.SASL_AUTHENTICATE}),
    }
)
"""The APIs whose requests are decoded in a state. In states without an entry, frames have no header, or no
frame is accepted.
"""


class ListVersions(Protocol):
    """A function that answers ApiVersions."""

    def __call__(self, version: int, request: ApiVersionsRequest | None, /) -> ApiVersionsResponse:
        """Return the response to a request, or to one of an unknown version, which cannot be decoded."""


class LoginRefusedError(Exception):
    """A refusal that is sent to the client after a delay. `str(error)` is the reason for the log, without a
    secret.

    `response` is the response, None where the protocol has none.
    """

    def __init__(self, reason: str, response: Response | None = None) -> None:
        super().__init__(reason)
        self.response = response


class OfferedMechanism(Struct, frozen=True):
    """A mechanism that a listener offers, and its `connections.max.reauth.ms`: 0 for no limit."""

    mechanism: Mechanism
    max_session_ms: int = 0


class LoginSession(Struct):
    """A connection's login, the name of its mechanism, and the time for which it is valid.

    Its times are elapsed ones (`Clock.elapsed_ms`), so that setting the wall clock ends no session.
    """

    login: Login
    mechanism: str
    lifetime_ms: int | None
    """Time in ms after the login from which on requests are refused; None for no end."""
    renewed_at_ms: int | None = None
    """Elapsed time in ms at which the last renewal began."""
    began_at_ms: int = 0
    """Elapsed time in ms of the login."""

    def may_renew(self, elapsed_ms: int) -> bool:
        """Return whether a SaslHandshake renews the session now; otherwise it is an ordinary request."""
        if self.lifetime_ms is None:
            return False
        return self.renewed_at_ms is None or elapsed_ms - self.renewed_at_ms >= RENEWAL_PAUSE_MS

    def has_ended(self, elapsed_ms: int) -> bool:
        """Return whether requests are refused now."""
        return self.lifetime_ms is not None and elapsed_ms - self.began_at_ms > self.lifetime_ms


class SaslExchange:
    """One login of one connection."""

    __slots__ = ("_list_versions", "_mechanism", "_negotiation", "_offered", "_previous", "session", "state")

    def __init__(
        self,
        offered: Mapping[str, OfferedMechanism],
        list_versions: ListVersions,
        previous: LoginSession | None = None,
    ) -> None:
        """Begin an exchange with the mechanisms that the listener offers, by name. With `previous`, renew
        that session.
        """
        self.state = ExchangeState.FIRST if previous is None else ExchangeState.HANDSHAKE
        self.session: LoginSession | None = None
        """The session, once the client has logged in."""
        self._offered = offered
        self._list_versions = list_versions
        self._previous = previous
        self._mechanism = ""
        self._negotiation: Negotiation | None = None

    def receive(self, frame: memoryview, now_ms: int) -> Response:
        """Take a frame of the client, without its length prefix, and return the response.

        The response has no buffers if nothing is sent. Raises:
            ProtocolViolation: the connection must be closed at once, without a response.
            LoginRefusedError: the login is refused, and the connection must be closed after the response.
        """
        state, self.state = self.state, ExchangeState.FAILED
        if state is ExchangeState.RAW_TOKENS:
            return self._take_raw(bytes(frame), now_ms)
        if state is ExchangeState.OTHER_MECHANISM:
            raise LoginRefusedError("a session cannot be renewed by another mechanism")
        return self._take_request(state, frame, now_ms)

    # Requests with a header

    def _take_request(self, state: ExchangeState, frame: memoryview, now_ms: int) -> Response:
        request = _Request(frame)
        if request.key not in PARSED.get(state, ()):
            raise self._unexpected(state, request)
        if request.key == ApiKey.API_VERSIONS:
            return self._answer_versions(request)
        if request.key == ApiKey.SASL_HANDSHAKE:
            return self._choose_mechanism(request)
        return self._take_token(request, now_ms)

    def _unexpected(self, state: ExchangeState, request: _Request) -> Exception:
        reason = f"{request.key.name} is sent before the login is complete"
        if state is not ExchangeState.TOKENS:
            return ProtocolViolation(f"{reason}: the client must set security.protocol to one with SASL")
        return LoginRefusedError(reason, request.refused(ErrorCode.ILLEGAL_SASL_STATE))

    def _answer_versions(self, request: _Request) -> Response:
        response = self._list_versions(
            request.version, request.decode() if request.is_of_known_version else None
        )
        self.state = ExchangeState.FIRST if response.error_code else ExchangeState.HANDSHAKE
        return request.answered(response)

    def _choose_mechanism(self, request: _Request) -> Response:
        handshake: SaslHandshakeRequest = request.decode()
        response = SaslHandshakeResponse(mechanisms=list(self._offered))
        offered = self._offered.get(handshake.mechanism)
        if offered is None and self._previous is not None:
            raise ProtocolViolation("the listener does not offer the mechanism of the renewal")
        if offered is None:
            response.error_code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            raise LoginRefusedError("the listener does not offer the mechanism", request.answered(response))
        if self._previous is not None and self._previous.mechanism != handshake.mechanism:
            self.state = ExchangeState.OTHER_MECHANISM
            return request.answered(response)
        self._mechanism = handshake.mechanism
        self._negotiation = offered.mechanism.begin()
        self.state = ExchangeState.TOKENS if request.version else ExchangeState.RAW_TOKENS
        return request.answered(response)

    # Tokens

    def _take_token(self, request: _Request, now_ms: int) -> Response:
        authenticate: SaslAuthenticateRequest = request.decode()
        try:
            token = self._negotiate(authenticate.auth_bytes, ExchangeState.TOKENS, now_ms)
        except SaslError as error:
            response = SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
                error_message=error.message or self._general_message(),
            )
            raise LoginRefusedError(str(error), request.answered(response)) from None
        lifetime_ms = None if self.session is None else self.session.lifetime_ms
        return request.answered(
            SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=lifetime_ms or 0)
        )

    def _take_raw(self, token: bytes, now_ms: int) -> Response:
        try:
            answer = self._negotiate(token, ExchangeState.RAW_TOKENS, now_ms)
        except SaslError as error:
            raise LoginRefusedError(str(error)) from None
        return [struct.pack(">i", len(answer)) + answer]

    def _negotiate(self, token: bytes, state: ExchangeState, now_ms: int) -> bytes:
        """Give the client's token to the mechanism and return the server's; record a login that the token
        completes.

        Raises:
            SaslError: the login is refused.
        """
        assert self._negotiation is not None
        answer = self._negotiation.respond(token)
        login = self._negotiation.login
        if login is None:
            self.state = state
        else:
            self._complete(login, now_ms)
        return answer

    def _complete(self, login: Login, now_ms: int) -> None:
        previous = self._previous
        if previous is not None and not _is_same(previous.login, login):
            old, new = previous.login.principal, login.principal
            raise SaslError(
                "a session cannot be renewed by another principal",
                "Cannot change principals during re-authentication "
                f"from {old.type}.{old.name}: {new.type}.{new.name}",
            )
        limits_ms = [] if login.expires_at_ms is None else [max(0, login.expires_at_ms - now_ms)]
        if self._offered[self._mechanism].max_session_ms > 0:
            limits_ms.append(self._offered[self._mechanism].max_session_ms)
        renewed_at_ms = None if previous is None else previous.renewed_at_ms
        self.session = LoginSession(login, self._mechanism, min(limits_ms, default=None), renewed_at_ms)
        self.state = ExchangeState.COMPLETE

    def _general_message(self) -> str:
        """Return Kafka's general text for a refusal whose reason must not be revealed."""
        what = "authentication" if self._previous is None else "re-authentication"
        return (
            f"Authentication failed during {what} due to invalid credentials with SASL mechanism "
            f"{self._mechanism}"
        )


def _is_same(login: Login, other: Login) -> bool:
    """Return whether two logins have the same principal, with or without a delegation token."""
    one, two = login.principal, other.principal
    return (one.type, one.name) == (two.type, two.name)


class _Request:
    """The header of a request, and its body, which is decoded only on demand."""

    __slots__ = ("_body", "_frame", "correlation_id", "key", "version")

    def __init__(self, frame: memoryview) -> None:
        """Read the header. Raises ProtocolViolation."""
        try:
            key, self.version, self.correlation_id = struct.unpack_from(">hhi", frame)
        except struct.error:
            raise ProtocolViolation("a request header is cut short") from None
        if key not in API_FACTS:
            raise ProtocolViolation(f"API key {key} does not exist")
        self.key = ApiKey(key)
        self._frame = frame
        self._body = 0
        if self.is_of_known_version:
            header_version = API_FACTS[self.key].request_header_version(self.version)
            _, _, self._body = read_request_header(frame, header_version)
        elif self.key != ApiKey.API_VERSIONS:
            raise ProtocolViolation(f"{self.key.name} has no version {self.version}")

    @property
    def is_of_known_version(self) -> bool:
        """Whether the version of the API exists."""
        return self.version in API_FACTS[self.key].versions

    @property
    def _response_version(self) -> int:
        """The version of the response: 0 if that of the request is unknown."""
        return self.version if self.is_of_known_version else 0

    def decode(self) -> Any:
        """Return the decoded body of the request. Raises ProtocolViolation."""
        return decoder(request_class(self.key), self.version)(self._frame, self._body, MAX_VALUES)[0]

    def answered(self, response: Any) -> Response:
        """Return the bytes of the response."""
        version = self._response_version
        header_version = API_FACTS[self.key].response_header_version(version)
        return compile_framer(response_class(self.key), version)(
            response, self.correlation_id, header_version
        )

    def refused(self, error: ErrorCode) -> Response | None:
        """Return the bytes of a response with this error; None if such a response has no error of its own."""
        kind: Any = response_class(self.key)
        fields = plan_message(kind, self._response_version).fields
        if not any(field.name == "error_code" and field.present for field in fields):
            return None
        return self.answered(kind(error_code=error))
