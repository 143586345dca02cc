"""The port through which a broker accepts connections, over any transport.

`plain_listener.bind` implements it with sockets. A simulation has its own implementation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kcompat.errors import StartError

if TYPE_CHECKING:
    from kcompat.net.answers import FrameHandler
    from kcompat.net.hub import Hub
    from kcompat.security.tls_server import TlsServer


class ListenerError(StartError):
    """Error of a listener that cannot be opened; the message is one sentence for the user."""


class BoundListener(Protocol):
    """A bound address. It accepts connections from `start` until `pause` or `close`."""

    @property
    def name(self) -> str:
        """Kafka's listener name, e.g. PLAINTEXT."""

    @property
    def host(self) -> str:
        """The address bound to; `localhost` if the listener is bound to its IPv4 and IPv6 addresses."""

    @property
    def port(self) -> int:
        """The port bound to; never 0."""

    def start(self, hub: Hub, handler: FrameHandler) -> None:
        """Start to accept, on the thread of the hub's loop; `handler` gets the received frames."""

    def pause(self) -> None:
        """Stop accepting until the next `start`. The address stays bound: clients that connect wait."""

    def close(self) -> None:
        """Stop accepting and release the address. Connections stay. May be called more than once."""


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
        tls: TlsServer | None = None,
    ) -> BoundListener:
        """Bind to an address. `localhost` stands for its IPv4 and IPv6 addresses, an empty host for every
        address, and port 0 for a free port. Raises `ListenerError`.

        `backlog` is the number of peers that may wait to be accepted. `buffers` are the sizes in bytes of the
        receive and the send buffer of a connection; -1 leaves one to the system. `protected` marks the
        inter-broker listener: at `max.connections` it closes the longest idle connection of another listener
        to accept one of its own. With `tls` all connections are encrypted.
        """
