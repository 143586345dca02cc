"""One connection to another broker: it asks for the peer's versions, logs in if the listener requires it,
then carries requests and responses.

Responses come in the order of the requests, and name the correlation id of the request. A response that does
not match ends the connection, since nothing after it could be trusted.
"""

from __future__ import annotations

import logging
import struct
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct

from kcompat.peer.errors import FAULT_OF, PeerFault
from kcompat.peer.login import PeerLogin
from kcompat.peer.releases import latest
from kcompat.protocol.api_keys import API_FACTS, ApiKey, response_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcompat.protocol.messages.headers import RequestHeader
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.protocol.reading import skip_tags
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from kcompat.net.outbound import Connect, Ending
    from kcompat.peer.call import Call
    from kcompat.peer.releases import Release
    from kcompat.protocol.message import Message
    from kcompat.security.sasl.mechanism import ClientMechanism

logger = logging.getLogger(__name__)

FIRST_VERSIONS_VERSION: Final = 3
"""Version of ApiVersions that is sent first: brokers since 2.4 have it. Older brokers answer with the
versions that they have."""
SOFTWARE: Final = ("kcompat", "unknown")
"""Name and version of this client in ApiVersions (KIP-511); neither may be empty."""

_LENGTH: Final = struct.Struct(">i").pack
_CORRELATION_ID: Final = struct.Struct(">i").unpack_from
_ERROR_CODE: Final = struct.Struct(">h").unpack_from


class ExchangeOwner(Protocol):
    """Owner of an exchange, notified of its beginning and its end."""

    def ready(self, session_lifetime_ms: int) -> None:
        """Handle the start of service: requests can be sent, for `ms` milliseconds and then only after
        `Exchange.log_in`; 0 means without end.
        """

    def over(self, fault: PeerFault) -> None:
        """Handle the end of the connection; the calls in flight fail next. Not called after
        `Exchange.close`.
        """


class _Sent(Struct):
    correlation_id: int
    version: int
    call: Call


class Exchange:
    """A connection from `open` to its end, as the `Receiver` of its transport."""

    def __init__(
        self,
        owner: ExchangeOwner,
        client_id: str,
        limit: Release | None,
        mechanism: ClientMechanism | None = None,
    ) -> None:
        """Prepare the connection; no version newer than the release `limit` has is sent, if there is a limit.
        `mechanism` is the SASL mechanism to log in by; None if the peer's listener needs no login.
        """
        self._owner = owner
        self._mechanism = mechanism
        self._client_id = client_id
        self._limit = limit
        self._correlation_id = 0
        self._in_flight: deque[_Sent] = deque()
        self.served: dict[int, ApiVersionsResponse.ApiVersion] = {}
        """The versions of each API that the peer serves; empty until the peer has sent them."""
        self.is_connected = False
        """Whether the peer has accepted the connection."""
        self.is_proven = False
        """Whether the peer has answered a request of a caller."""
        self.refusal: str | None = None
        """Reason why the peer, or this broker, has refused the login."""

    def open(self, connect: Connect, address: tuple[str, int], **options: Any) -> None:
        """Start to connect; `options` are the keyword arguments of `Connect`."""
        self._connection = connect(address, self, **options)

    def close(self, fault: PeerFault) -> None:
        """End the connection; calls in flight fail with `fault`."""
        self._connection.close()
        in_flight, self._in_flight = self._in_flight, deque()
        for sent in in_flight:
            sent.call.miss(fault)

    # Calls by the connection

    def connected(self) -> None:
        self.is_connected = True
        self._send(_AskVersions(self), FIRST_VERSIONS_VERSION)

    def ended(self, ending: Ending) -> None:
        self._break(FAULT_OF[ending])

    def received(self, frame: memoryview) -> None:
        if not self._in_flight:
            self._break(PeerFault.GARBLED)
            return
        sent = self._in_flight[0]
        try:
            response = _decode(sent, frame)
        except (ProtocolViolation, struct.error, IndexError) as damage:
            logger.warning("An answer of another broker cannot be read: %s", damage)
            self._break(PeerFault.GARBLED)
            return
        self._in_flight.popleft()
        sent.call.settle(response)

    def _break(self, fault: PeerFault) -> None:
        self._owner.over(fault)
        self.close(fault)

    # Versions

    def versions(self, response: ApiVersionsResponse, asked: int) -> None:
        """Handle the response with the peer's versions, or its refusal of this version of ApiVersions."""
        offered = {row.api_key: row for row in response.api_keys}
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION and asked:
            row = offered.get(ApiKey.API_VERSIONS)
            self._send(_AskVersions(self), 0 if row is None else min(row.max_version, asked - 1))
        elif response.error_code:
            self._break(PeerFault.GARBLED)
        else:
            self.served = offered
            self.log_in()

    def version_of(self, key: ApiKey, newest: int) -> int | None:
        """Return the version of a request for this peer, at most `newest`; None if none is in common."""
        served = self.served.get(key)
        if served is None:
            return None
        version = min(served.max_version, latest(key, self._limit), newest)
        return None if version < served.min_version else version

    # Login

    def log_in(self) -> None:
        """Log in, for the first time or again. No other request may be sent before `ExchangeOwner.ready`."""
        if self._mechanism is None:
            self._owner.ready(0)
        else:
            PeerLogin(self, self._mechanism).begin()

    def logged_in(self, session_lifetime_ms: int) -> None:
        self._owner.ready(session_lifetime_ms)

    def refused(self, reason: str) -> None:
        self.refusal = reason
        self._break(PeerFault.NOT_LOGGED_IN)

    # Requests

    def send(self, call: Call) -> None:
        """Send a request; `ExchangeOwner.ready` must have been called."""
        version = self.version_of(call.key, call.newest)
        if version is None:
            call.miss(PeerFault.UNSUPPORTED)
        else:
            self._send(call, version)

    def _send(self, call: Call, version: int) -> None:
        facts = API_FACTS[call.key]
        header_version = facts.request_header_version(version)
        self._correlation_id = correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        client_id = self._client_id if header_version else ""
        header = RequestHeader(call.key, version, correlation_id, client_id)
        try:
            request = call.make(version)
            pieces = [*header.encode(header_version), *request.encode(version)]
        except Exception as error:
            call.fail(error)
            return
        is_answered = not isinstance(request, ProduceRequest) or request.acks != 0
        if is_answered:
            self._in_flight.append(_Sent(correlation_id, version, call))
        self._connection.send([_LENGTH(sum(map(len, pieces))), *pieces])
        if not is_answered:
            call.settle(ProduceResponse())


class _AskVersions:
    """The first request on a connection: the peer's versions (KIP-35)."""

    key: Final = ApiKey.API_VERSIONS
    newest: Final = FIRST_VERSIONS_VERSION

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._version = 0

    def make(self, version: int) -> Message:
        self._version = version
        return ApiVersionsRequest(*SOFTWARE)

    def settle(self, response: Message) -> None:
        assert isinstance(response, ApiVersionsResponse)
        self._exchange.versions(response, self._version)

    def fail(self, error: Exception) -> None:
        """Raise the error: if a version of ApiVersions cannot be encoded, that is a bug of this program."""
        raise error

    def miss(self, fault: PeerFault) -> None:
        """Do nothing: the owner fails the calls that wait."""


def _decode(sent: _Sent, frame: memoryview) -> Message:
    key, version = sent.call.key, sent.version
    (correlation_id,) = _CORRELATION_ID(frame)
    if correlation_id != sent.correlation_id:
        raise ProtocolViolation(f"an answer to {correlation_id}, where {sent.correlation_id} was next")
    start = 4
    if API_FACTS[key].response_header_version(version):
        start = skip_tags(frame, start)
    if key == ApiKey.API_VERSIONS and _ERROR_CODE(frame, start) == (ErrorCode.UNSUPPORTED_VERSION,):
        version = 0  # in which any version may be refused (KIP-511)
    return response_class(key).decode(frame, version, start)
