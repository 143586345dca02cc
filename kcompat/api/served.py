"""What the registry says of one API."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.net.answers import Mode
    from kcompat.protocol.api_keys import ApiKey

Handler = Callable[[Any, Any], Any]
"""`handle(context, request)` returns the response, or a `Promise`, an `Interruptible` or a `Busy` of one.
None means that no answer is sent (acks=0), `CLOSE` that the connection is closed."""


class Served(Struct, frozen=True):
    """One API: who answers it, its versions, what a waiting request means to the ones behind it, and at which
    kinds of listeners it may be asked for.

    Any other version closes the connection, except of ApiVersions.
    """

    key: ApiKey
    handle: Handler
    min_version: int
    max_version: int
    mode: Mode
    listeners: frozenset[str]


BROKER_LISTENER = "broker"
"""The kind of listener that every broker opens, for clients and for other brokers."""


def served_at(listener: str, apis: Iterable[Served]) -> tuple[Served, ...]:
    """Those that may be asked for at this kind of listener."""
    return tuple(api for api in apis if listener in api.listeners)
