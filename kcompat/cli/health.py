"""Whether the broker of this container answers, for the health check of an image that needs no other tool."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Final

from kcompat.node.listeners import reachable_host
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kcompat.config.listeners import Endpoint

TIMEOUT_S: Final = 5.0
_CORRELATION_ID: Final = 1
_REQUEST: Final = struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, _CORRELATION_ID, -1)
_ANSWER: Final = struct.Struct(">iih")


def fault_of(listener: Endpoint) -> str | None:
    """Ask the broker at `listener` for its APIs; return the fault in a sentence, or None if it answers."""
    try:
        with socket.create_connection(
            (reachable_host(listener.host), listener.port), TIMEOUT_S
        ) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.sendall(_REQUEST)
            answer = connection.recv(_ANSWER.size, socket.MSG_WAITALL)
    except OSError as error:
        return f"{listener} does not answer: {error.strerror or error}"
    if len(answer) < _ANSWER.size or _ANSWER.unpack(answer)[1:] != (_CORRELATION_ID, 0):
        return f"{listener} answers otherwise than a broker"
    return None
