"""The header of a request, which tells its API, version and client, and the size of response headers."""

from __future__ import annotations

from struct import error as StructError  # noqa: N812 - the module's own name says nothing
from typing import NamedTuple

from kcompat.protocol.api_keys import API_FACTS, ApiKey
from kcompat.protocol.compiling import read_request_header
from kcompat.protocol.schema import ProtocolViolation


class RequestHead(NamedTuple):
    """The header of a request."""

    key: ApiKey | None
    """The API; None if the bytes are not a request, or were not recorded because they may be secret."""
    version: int
    correlation_id: int
    client_id: str | None
    body_at: int
    """Position of the body; 0 if the request has none."""


UNKNOWN = RequestHead(None, -1, -1, None, 0)


def read_head(request: bytes | memoryview) -> RequestHead:
    """Return the header of a request, as far as it can be read from these bytes."""
    key, version = int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big", signed=True)
    if len(request) < 4 or key not in API_FACTS:
        return UNKNOWN
    head = UNKNOWN._replace(key=ApiKey(key), version=version)
    if version not in API_FACTS[key].versions:
        return head
    try:
        correlation_id, client_id, body = read_request_header(
            memoryview(request), API_FACTS[key].request_header_version(version)
        )
    except (ProtocolViolation, StructError):
        return head
    return RequestHead(ApiKey(key), version, correlation_id, client_id, body)


def response_body_at(key: ApiKey, version: int) -> int:
    """Return the position of the body in a response with its length prefix.

    Before it are the length, the correlation id and, in headers of version 1, no tagged fields (one byte).
    """
    return 8 + API_FACTS[key].response_header_version(version)
