"""Request and response headers, read and written by hand: every request passes here first."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from kcompat.protocol.api_keys import API_FACTS, ApiKey
from kcompat.protocol.compiling import read_request_header
from kcompat.protocol.schema import ProtocolViolation

__all__ = [
    "ParsedHeader",
    "UnsupportedVersion",
    "parse_request_header",
    "read_request_header",
    "request_header",
    "response_header",
]

_START: Final = struct.Struct(">hhi").unpack_from
_CORRELATION_ID: Final = struct.Struct(">i").pack
_CORRELATION_ID_AND_NO_TAGS: Final = struct.Struct(">ix").pack

_HEADER_VERSIONS: Final = {
    (key, version): facts.request_header_version(version)
    for key, facts in API_FACTS.items()
    for version in facts.versions
}
_LONG_RESPONSE_HEADERS: Final = frozenset(
    (key, version)
    for key, facts in API_FACTS.items()
    for version in facts.versions
    if facts.response_header_version(version) == 1
)


class UnsupportedVersion(ProtocolViolation):
    """A request of an unknown API key or version. ApiVersions is answered all the same (KIP-511)."""

    def __init__(self, api_key: int, api_version: int, correlation_id: int) -> None:
        super().__init__(f"API key {api_key} version {api_version} is not known")
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id


class ParsedHeader(NamedTuple):
    """The header of a request; the body begins at `body_offset`."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_offset: int


def parse_request_header(view: memoryview) -> ParsedHeader:
    """Read a request header of version 0, 1 or 2, as the API key and version in it demand.

    Raises UnsupportedVersion for a key or version that does not exist, without reading past the correlation
    id, and ProtocolViolation for a header that is cut short.
    """
    try:
        api_key, version, correlation_id = _START(view)
    except struct.error as fault:
        raise ProtocolViolation("request header is cut short") from fault
    header_version = _HEADER_VERSIONS.get((api_key, version))
    if header_version is None:
        raise UnsupportedVersion(api_key, version, correlation_id)
    return ParsedHeader(api_key, version, *read_request_header(view, header_version))


def response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """The bytes that lead a response: the correlation id, and empty tags where the API is flexible."""
    if (api_key, api_version) in _LONG_RESPONSE_HEADERS:
        return _CORRELATION_ID_AND_NO_TAGS(correlation_id)
    return _CORRELATION_ID(correlation_id)


def request_header(api_key: ApiKey, api_version: int, correlation_id: int, client_id: str | None) -> bytes:
    """The bytes that lead a request, for the client side. KeyError for a version that does not exist."""
    header_version = _HEADER_VERSIONS[api_key, api_version]
    start = struct.pack(">hhi", api_key, api_version, correlation_id)
    if header_version == 0:
        return start
    text = client_id.encode() if client_id is not None else b""
    length = struct.pack(">h", -1 if client_id is None else len(text))
    return start + length + text + b"\0" * (header_version == 2)
