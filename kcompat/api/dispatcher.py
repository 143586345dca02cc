"""From a frame to an answer: header, body, handler, encoding. The only caller of handlers.

Faults are mapped here, once: damage in the frame closes the connection, as Kafka does; a version that is not served closes it
too, but for ApiVersions, which answers every version; a bug in a handler is logged and answered UNKNOWN_SERVER_ERROR where the
response has room for it.
"""

from __future__ import annotations

import logging
import struct
import time
from typing import TYPE_CHECKING, Any

from kcompat.api import api_versions
from kcompat.api.context import RequestContext
from kcompat.api.registry import BY_KEY
from kcompat.net.answers import CLOSE, Answer, Parts, Waiting, WaitMode
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.compiler import decoder, encoder
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.headers import parse_request_header
from kcompat.protocol.violations import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.api.context import Services
    from kcompat.net.connection import Connection

logger = logging.getLogger(__name__)

PREFIX = struct.Struct(">ii")
FLEXIBLE_PREFIX = struct.Struct(">iiB")


class Route:
    """All that is needed to serve one version of one API, looked up once."""

    __slots__ = ("decode", "encode", "flexible_header", "handle", "key", "response_class", "version", "wait_mode")

    def __init__(self, key: ApiKey, version: int) -> None:
        served = BY_KEY[key]
        self.key = key
        self.version = version
        self.handle = served.handle
        self.wait_mode: WaitMode = served.wait_mode
        self.response_class = key.response_class
        self.decode: Callable[[memoryview, int], tuple[Any, int]] = decoder(key.request_class, version)
        self.encode: Callable[[Any], Parts] = encoder(key.response_class, version)
        self.flexible_header = key.response_header_version(version) >= 1

    def answer(self, correlation_id: int, response: Any) -> Parts:
        """The frame that carries `response`."""
        parts = self.encode(response)
        if self.flexible_header:
            size = 5 + sum(map(len, parts))
            prefix = FLEXIBLE_PREFIX.pack(size, correlation_id, 0)
        else:
            prefix = PREFIX.pack(4 + sum(map(len, parts)), correlation_id)
        if len(parts) == 1:
            return [prefix + parts[0]]
        parts.insert(0, prefix)
        return parts
