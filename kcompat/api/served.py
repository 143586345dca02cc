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
    handler: Callable[[], Handler]
    """Gives who answers it."""
    min_version: int
    max_version: int
    mode: Mode
    listeners: frozenset[str]


BROKER_LISTENERS = frozenset({"broker", "zkBroker"})
"""What the listener is that every broker opens, for clients and for other brokers: that of a broker, in a
cluster with ZooKeeper.
"""


def served_at(listeners: frozenset[str], apis: Iterable[Served]) -> tuple[Served, ...]:
    """Those that may be asked for at a listener that is of these kinds."""
    return tuple(api for api in apis if listeners & api.listeners)
