"""The decoder, handler and encoder of one version of one API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.net.answers import CLOSE
from kcompat.protocol.api_keys import API_FACTS, request_class, response_class
from kcompat.protocol.compiling import compile_framer, read_request_header
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.message import decoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.api.context import Services
    from kcompat.api.registry import Served
    from kcompat.net.answers import Settled

MAX_VALUES = 250_000
"""Largest number of array elements and fields of one request. A handler takes some microseconds for each and
blocks the event loop meanwhile: more would block it for seconds.
"""
MAX_CONTROL_VALUES = 16 * MAX_VALUES
"""Largest number of array elements and fields of one request between brokers. A controller names all
partitions at once, with some twenty values each, and would repeat a request that is refused for its size
forever.
"""


class Route:
    """The decoder, handler and encoder of one version of one API."""

    __slots__ = (
        "decode",
        "frame",
        "handle",
        "header_version",
        "key",
        "max_values",
        "mode",
        "response_header_version",
        "response_type",
        "shortcut",
        "version",
    )

    def __init__(self, served: Served, version: int, services: Services) -> None:
        key = served.key
        self.key = key
        self.version = version
        self.handle = served.handler()
        self.mode = served.mode
        self.decode: Callable[[memoryview, int, int], tuple[Any, int]] = decoder(request_class(key), version)
        self.frame = compile_framer(response_class(key), version)
        self.response_type = response_class(key)
        facts = API_FACTS[key]
        self.max_values = MAX_CONTROL_VALUES if facts.cluster_action else MAX_VALUES
        self.header_version = facts.request_header_version(version)
        self.response_header_version = facts.response_header_version(version)
        make = served.shortcut
        self.shortcut = None if make is None else make(services, version, self.read)

    def read(self, frame: memoryview) -> tuple[str | None, Any]:
        _, client_id, body = read_request_header(frame, self.header_version)
        return client_id, self.decode(frame, body, self.max_values)[0]

    def settled(self, correlation_id: int, response: Any) -> Settled:
        """Return the encoded bytes of a final response; None for a Produce with acks=0, which has no
        response.
        """
        if response is None or response is CLOSE:
            return response
        return self.frame(response, correlation_id, self.response_header_version)

    def failure(self, correlation_id: int) -> Settled:
        """Return the bytes of the response after an exception of the handler, or CLOSE."""
        response: Any = self.response_type()
        if not hasattr(response, "error_code"):
            return CLOSE
        response.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
        return self.frame(response, correlation_id, self.response_header_version)
