"""The port through which a broker connects to others: frames out, frames in, and how a connection ended.

`outbound_socket.SocketConnector` is the one for sockets. A simulation has one of its own.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Ending(Enum):
    """Reasons why a connection has ended, or could not be made."""

    REFUSED = "refused"
    """The port is closed: the host lives and refuses the connection."""
    RESET = "reset"
    """The peer's system dropped the connection: the process that held it is gone, or forced its end."""
    CLOSED = "closed"
    """The peer ended it in order; a system does so as well for a process that it ends."""
    TIMED_OUT = "timed out"
    """No answer comes from the address: the host is off, stopped or cut off."""
    UNREACHABLE = "unreachable"
    """The address cannot be found, or no way leads there."""
    BAD_FRAME = "bad frame"
    """The peer announced a frame that is larger than allowed, or none."""


class Receiver(Protocol):
    """The owner of a connection. The loop calls it, never one of the owner's own calls to `Outbound`."""

    def connected(self) -> None:
        """The peer has accepted."""

    def received(self, frame: memoryview) -> None:
        """One whole frame, without its length prefix: the receiver's to keep and to change."""

    def ended(self, ending: Ending) -> None:
        """The connection is no more. Called once and last, and not at all after `Outbound.close`."""


class Outbound(Protocol):
    """A connection of ours to another broker."""

    def send(self, pieces: Sequence[bytes | bytearray | memoryview]) -> None:
        """Send these, after all that was sent before; only once `connected`. What the peer does not take at
        once is kept.
        """

    def close(self) -> None:
        """End it at once; the receiver hears no more. May be called more than once."""


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
    ) -> Outbound:
        """Begin to connect to a host and a port; `receiver` hears how it goes, never before this returns.

        A host that is a name is looked up without holding the loop, and its addresses are tried in turn.
        `timeout_ms` is for all of that. `max_frame` is the largest frame taken, in bytes. `receive_buffer` is
        the size in bytes of the socket's; -1 leaves it to the system.
        """
