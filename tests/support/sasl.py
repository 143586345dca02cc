"""SASL by hand: frames of clients that log in, and a mechanism of several rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.security.principals import Principal
from kcompat.security.sasl.mechanism import Login, SaslError
from support.raw_client import request_frame, response_in

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

CORRELATION_ID = 7


def frame_of(request: Message, version: int) -> memoryview:
    """Return a request without its length prefix."""
    return memoryview(bytearray(request_frame(request, version, CORRELATION_ID)[4:]))


def versions_frame(version: int = 3, software: str = "me") -> memoryview:
    """Return an ApiVersions request."""
    request = ApiVersionsRequest()
    if version >= 3:
        request = ApiVersionsRequest(client_software_name=software, client_software_version="1")
    return frame_of(request, version)


def handshake_frame(mechanism: str = "PLAIN", version: int = 1) -> memoryview:
    """Return a SaslHandshake request."""
    return frame_of(SaslHandshakeRequest(mechanism=mechanism), version)


def token_frame(token: bytes, version: int = 2) -> memoryview:
    """Return a SaslAuthenticate request."""
    return frame_of(SaslAuthenticateRequest(auth_bytes=token), version)


def plain_token(user: str, password: str) -> bytes:
    """Return the token of PLAIN."""
    return b"\0" + user.encode() + b"\0" + password.encode()


def decoded(response: Any, request_type: type[Message], version: int) -> Any:
    """Return the response in the buffers that an exchange or a gate answers."""
    return response_in(b"".join(response)[4:], request_type, version)


class Rounds:
    """A mechanism of several rounds: `more` asks for another one, `name EXPIRY` logs in, all else is
    refused.
    """

    name = "ROUNDS"

    def begin(self) -> Rounds._Negotiation:
        """Return a negotiation."""
        return Rounds._Negotiation()

    class _Negotiation:
        def __init__(self) -> None:
            self.login: Login | None = None

        def respond(self, token: bytes) -> bytes:
            if token == b"more":
                return b"go on"
            name, _, expiry = token.decode("utf-8", "replace").partition(" ")
            if not name.isalpha() or (expiry and not expiry.isdigit()):
                raise SaslError("it is no name")
            self.login = Login(Principal("User", name), int(expiry) if expiry else None)
            return b"welcome"
