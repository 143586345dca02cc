"""Probes of a port: whether it speaks Kafka's protocol, TLS, HTTP, ZooKeeper's protocol or nothing.

Each probe makes connections of its own, since a wrong first byte ends most of them. Nothing secret is sent.
"""

from __future__ import annotations

import errno
import socket
import struct
import time
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kcompat.protocol.api_keys import API_FACTS, ApiKey, response_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.headers import RequestHeader
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from kcompat.admin.settings import ClientSettings
    from kcompat.protocol.message import Message

    Address = tuple[str, int]

OTHERS_TIMEOUT_S: Final = 1.0
"""Seconds in which a port that has said nothing to Kafka's request answers one of another protocol."""
MOST_BYTES: Final = 1 << 20
"""Maximum number of bytes of an answer that a probe reads."""
_TLS_ALERT: Final = b"\x15\x03"
_TLS_HANDSHAKE: Final = b"\x16\x03"
_CORRELATION_ID: Final = 1


def timeout_of(settings: ClientSettings) -> float:
    """Return the seconds in which a healthy broker accepts a connection of a client, and answers it."""
    return settings.milliseconds("request.timeout.ms") / 1000


class Speech(Enum):
    """Protocols that a port may speak."""

    KAFKA = "Kafka's protocol"
    TLS = "TLS"
    HTTP = "HTTP"
    ZOOKEEPER = "ZooKeeper's protocol"
    NOTHING = "nothing"
    """The port accepts connections and does not answer."""
    OTHER = "another protocol"


class Failure(Enum):
    """Reasons why a connection cannot be made."""

    NAME = "the name does not resolve"
    REFUSED = "nothing listens there"
    SILENT = "no answer comes"
    UNREACHABLE = "there is no route"


class CannotConnectError(Exception):
    """Error of a connection that cannot be made."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.value)
        self.failure = failure


class Port(Struct):
    """A port that accepts connections."""

    speech: Speech
    versions: dict[int, tuple[int, int]] = {}
    """The lowest and highest version of each API, if the port speaks Kafka's protocol."""


def connect(address: Address, timeout_s: float) -> socket.socket:
    """Return a connection. Raises CannotConnectError."""
    try:
        return socket.create_connection(address, timeout_s)
    except (socket.gaierror, UnicodeError) as fault:
        raise CannotConnectError(Failure.NAME) from fault
    except TimeoutError as fault:
        raise CannotConnectError(Failure.SILENT) from fault
    except OSError as fault:
        refused = fault.errno in (errno.ECONNREFUSED, errno.ECONNRESET)
        raise CannotConnectError(Failure.REFUSED if refused else Failure.UNREACHABLE) from fault


def look_at(address: Address, timeout_s: float, *, by_tls: bool = False) -> Port:
    """Return what a port speaks. Raises CannotConnectError.

    With `by_tls` the first question is a handshake, so that the log of a listener with TLS has no line about
    a client without it.
    """
    if by_tls:
        with connect(address, timeout_s) as sock:
            if _shakes_hands(sock):
                return Port(Speech.TLS)
    with connect(address, timeout_s) as sock:
        try:
            served = _ask(sock, ApiVersionsRequest(), 0)
        except _NotKafkaError as fault:
            first = fault.beginning
        except OSError:
            first = b""
        else:
            versions = {each.api_key: (each.min_version, each.max_version) for each in served.api_keys}
            return Port(Speech.KAFKA, versions)
    timeout_s = min(timeout_s, OTHERS_TIMEOUT_S)
    if first.startswith((_TLS_ALERT, _TLS_HANDSHAKE)) or (
        not by_tls and _takes_part_in_tls(address, timeout_s)
    ):
        return Port(Speech.TLS)
    if first.startswith(b"HTTP/") or _answer_to(address, b"GET / HTTP/1.0\r\n\r\n", timeout_s).startswith(
        b"HTTP/"
    ):
        return Port(Speech.HTTP)
    if _answer_to(address, b"srvr", timeout_s).startswith((b"Zookeeper version", b"srvr is not executed")):
        return Port(Speech.ZOOKEEPER)
    return Port(Speech.OTHER if first else Speech.NOTHING)


class _NotKafkaError(OSError):
    """Error of an answer that is not in Kafka's protocol."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__()
        self.beginning = beginning


def _ask(sock: socket.socket, request: Message, version: int) -> Any:
    """Return the response to a request. Raises OSError."""
    facts = API_FACTS[ApiKey(request.api_key)]
    header_version = facts.request_header_version(version)
    header = RequestHeader(facts.key, version, _CORRELATION_ID, "kcompat-doctor")
    body = b"".join((*header.encode(header_version), *request.encode(version)))
    sock.sendall(struct.pack(">i", len(body)) + body)
    beginning = _receive(sock, 8)
    if len(beginning) < 8:
        raise _NotKafkaError(beginning)
    size, correlation_id = struct.unpack(">ii", beginning)
    if correlation_id != _CORRELATION_ID or not 4 <= size <= MOST_BYTES:
        raise _NotKafkaError(beginning)
    answer = _receive(sock, size - 4)
    position = 1 if facts.response_header_version(version) else 0
    try:
        return response_class(facts.key).decode(memoryview(answer), version, position)
    except (ProtocolViolation, struct.error) as fault:
        raise _NotKafkaError(beginning) from fault


def _receive(sock: socket.socket, size: int) -> bytes:
    """Receive `size` bytes; return fewer if the connection ends before. The timeout of the socket is for all
    of them. Raises OSError.
    """
    until_s = time.monotonic() + (sock.gettimeout() or 0)
    data = b""
    while len(data) < size:
        sock.settimeout(max(until_s - time.monotonic(), 0.001))
        piece = sock.recv(size - len(data))
        if not piece:
            break
        data += piece
    return data


def serves_without_login(address: Address, timeout_s: float) -> bool:
    """Return whether a listener without TLS answers a client that does not log in."""
    try:
        with connect(address, timeout_s) as sock:
            _ask(sock, MetadataRequest([]), 1)
    except (OSError, CannotConnectError):
        return False
    return True


def offered_mechanisms(address: Address, timeout_s: float, mechanism: str) -> tuple[str, ...] | None:
    """Return the SASL mechanisms of a listener without TLS; None if it asks for no login.

    `mechanism` is the one to begin a login with. A broker logs a refused login if it does not offer it.
    """
    try:
        with connect(address, timeout_s) as sock:
            response = _ask(sock, SaslHandshakeRequest(mechanism), 1)
    except (OSError, CannotConnectError):
        return None
    begins_login = response.error_code in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_SASL_MECHANISM)
    return tuple(response.mechanisms) if begins_login else None


def _takes_part_in_tls(address: Address, timeout_s: float) -> bool:
    try:
        with connect(address, timeout_s) as sock:
            return _shakes_hands(sock)
    except CannotConnectError:
        return False


def _shakes_hands(sock: socket.socket) -> bool:
    """Return whether the port at the other end of a new connection speaks TLS."""
    import ssl  # late: most ports need no OpenSSL

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing secret is sent
    try:
        with context.wrap_socket(sock):
            return True
    except ssl.SSLError as fault:
        return "ALERT" in (fault.reason or "")  # it refuses this client in TLS' own words
    except OSError:
        return False


def _answer_to(address: Address, question: bytes, timeout_s: float) -> bytes:
    try:
        with connect(address, timeout_s) as sock:
            sock.sendall(question)
            return _receive(sock, 24)
    except (OSError, CannotConnectError):
        return b""
