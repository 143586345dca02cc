"""The port through which a broker is reached: how it binds to an address, whatever carries the bytes there.

`plain_listener.bind` is the one for sockets. A simulation has one of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kcompat.errors import StartError

if TYPE_CHECKING:
    from kcompat.net.answers import FrameHandler
    from kcompat.net.hub import Hub


class ListenerError(StartError):
    """A listener cannot be opened; the message is one sentence for the user."""


class Listener(Protocol):
    """A bound address. It accepts connections between `start` and `close`."""

    @property
    def name(self) -> str:
        """Kafka's listener name, e.g. PLAINTEXT."""

    @property
    def host(self) -> str:
        """The address bound to; `localhost` where that is its addresses of IPv4 and IPv6."""

    @property
    def port(self) -> int:
        """The port bound to: the real one where 0 was asked for."""

    def start(self, hub: Hub, handler: FrameHandler) -> None:
        """Begin to accept, from the thread of the hub's loop; `handler` gets what the connections receive."""

    def close(self) -> None:
        """Stop accepting and let go of the address. Connections stay. May be called more than once."""


class Bind(Protocol):
    """A function that opens a listener, with or without a real network."""

    def __call__(
        self,
        name: str,
        host: str,
        port: int,
        *,
        backlog: int = 50,
        buffers: tuple[int, int] = (-1, -1),
        protected: bool = False,
    ) -> Listener:
        """Bind to an address; `localhost` is its addresses of IPv4 and IPv6, an empty host every address, and
        port 0 a free port. Raises `ListenerError`.

        `backlog` peers may wait to be accepted. `buffers` are the sizes in bytes of the receive and the send
        buffer of a connection; -1 leaves one to the system. `protected` is the inter-broker listener: at
        `max.connections` it closes the longest idle connection of another listener to accept one of its own.
        """
