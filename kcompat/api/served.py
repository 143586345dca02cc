"""An entry of the registry: the facts about one served API."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.net.answers import Connection, Mode
    from kcompat.protocol.api_keys import ApiKey

Handler = Callable[[Any, Any], Any]
"""`handle(context, request)` returns the response, or a `Promise`, an `Interruptible` or a `Busy` of one.
None means that no answer is sent (acks=0), `CLOSE` that the connection is closed. A handler raises
`ProtocolViolation` before it has done anything, for a request that Kafka refuses to parse."""


Reader = Callable[[memoryview], tuple["str | None", Any]]
"""Gives the client id and the request of a frame. Raises ProtocolViolation."""


class Shortcut(Protocol):
    """Serves some requests of one version of an API without reading all that is in them."""

    def serve(self, connection: Connection, frame: memoryview) -> Any:
        """Serve a request and return the handler's response; None, without an effect, to call the handler.

        The response is to be encoded before the next call.
        """


class Served(Struct, frozen=True):
    """One API: who answers it, its versions, what a waiting request means to the ones behind it, and at which
    kinds of listeners it may be asked for.

    Any other version closes the connection, except of ApiVersions.
    """

    key: ApiKey
    handler: Callable[[], Handler]
    """Gives who answers it."""
    min_version: int
    max_version: int
    mode: Mode
    listeners: frozenset[str]
    shortcut: Callable[[Any, int, Reader], Shortcut | None] | None = None
    """Makes that of a version, if there is one, from the `Services` of the broker."""


BROKER_LISTENERS = frozenset({"broker", "zkBroker"})
"""Kinds of the listener that each broker opens for clients and other brokers: a broker's, with ZooKeeper."""


def served_at(listeners: frozenset[str], apis: Iterable[Served]) -> tuple[Served, ...]:
    """Return the APIs that are served at a listener of these kinds."""
    return tuple(api for api in apis if listeners & api.listeners)
