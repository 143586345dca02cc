"""A port to observe the connections of a broker, at no cost where no observer is added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kcompat.security.principals import Principal


class ObservedConnection(Protocol):
    """The part of a connection that an observer reads."""

    listener_name: str
    peer_host: str
    peer_port: int
    principal: Principal


class ConnectionObserver(Protocol):
    """An observer of the connections of one broker, in `Hub.observers`. Its methods must not raise."""

    def opened(self, connection: ObservedConnection) -> None:
        """Note an accepted connection."""

    def closed(self, connection: ObservedConnection, reason: str) -> None:
        """Note the end of a connection; `reason` is one of the counters `Hub.closed`."""

    def complained(self, host: str, message: str) -> None:
        """Note a message about a peer, such as the reason why its connection is closed next."""
