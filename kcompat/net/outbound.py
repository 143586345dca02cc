"""The port through which a broker connects to others: frames out, frames in, and how a connection ended.

`outbound_socket.SocketConnector` implements it with sockets. A simulation has its own implementation.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ssl import SSLContext


class Ending(Enum):
    """Reasons why a connection has ended, or could not be made."""

    REFUSED = "refused"
    """The port is closed: the host lives and refuses the connection."""
    RESET = "reset"
    """The peer's system dropped the connection: the process that held it has ended, or forced its end."""
    CLOSED = "closed"
    """The peer closed the connection in order; a system also does so for a process that it ends."""
    TIMED_OUT = "timed out"
    """The address does not answer: the host is off, stopped or cut off."""
    UNREACHABLE = "unreachable"
    """The address is unknown, or no route leads to it."""
    BAD_FRAME = "bad frame"
    """The peer announced a frame of a length that is not allowed."""
    UNTRUSTED = "untrusted"
    """The TLS handshake failed, or the peer broke the rules of TLS afterwards."""


class Receiver(Protocol):
    """The owner of a connection. The loop calls its methods, never from inside one of the owner's calls to
    `Outbound`.
    """

    def connected(self) -> None:
        """Handle the peer's acceptance of the connection."""

    def received(self, frame: memoryview) -> None:
        """Process one whole frame, without its length prefix; the receiver may keep and change it."""

    def ended(self, ending: Ending) -> None:
        """Handle the end of the connection. Called once and last, and not at all after `Outbound.close`."""


class Outbound(Protocol):
    """A connection of this broker to another one."""

    def send(self, pieces: Sequence[bytes | bytearray | memoryview]) -> None:
        """Send these pieces after all earlier ones; allowed once `connected`. Pieces that the peer does not
        take at once are kept.
        """

    def close(self) -> None:
        """End the connection at once; no method of the receiver is called any more. May be called more than
        once.
        """


class Connect(Protocol):
    """A function that opens a connection to an address."""

    def __call__(
        self,
        address: tuple[str, int],
        receiver: Receiver,
        *,
        timeout_ms: float,
        max_frame: int,
        receive_buffer: int = -1,
        tls: SSLContext | None = None,
    ) -> Outbound:
        """Start to connect to a host and a port. The `receiver` is notified of the outcome, never before this
        returns.

        A host name is looked up without blocking the loop, and its addresses are tried in turn. `timeout_ms`
        limits all of that. `max_frame` is the largest frame accepted, in bytes. `receive_buffer` is the size
        in bytes of the socket's; -1 leaves it to the system. With `tls`, the context of a TLS client, the
        connection is encrypted, and `connected` follows the handshake.
        """
