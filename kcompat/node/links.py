"""The connections between the brokers of one process, which can be cut as a network failure cuts them.

A cut is silent: sent data waits, and new connections time out. After `heal` the waiting data arrives, as with
TCP, if both ends still exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.net.outbound import Ending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from ssl import SSLContext

    from kcompat.clock import Clock, Timer
    from kcompat.net.outbound import Connect, Outbound, Receiver

Piece = bytes | bytearray | memoryview


class Links:
    """All connections among some brokers."""

    def __init__(self, connect: Connect, clock: Clock) -> None:
        """Keep the network; `connect` opens the connections that are not cut."""
        self.connect = connect
        self.clock = clock
        self._ports: dict[int, int] = {}
        self.isolated: set[int] = set()
        """Ids of the brokers that are cut off from the others."""
        self._open: dict[_Link, None] = {}

    def listens(self, broker_id: int, port: int) -> None:
        """Register that a broker of this process listens at this port."""
        self._ports[port] = broker_id

    def of(self, broker_id: int) -> Connect:
        """Return the function with which a broker connects to others."""

        def connect(
            address: tuple[str, int],
            receiver: Receiver,
            *,
            timeout_ms: float,
            max_frame: int,
            receive_buffer: int = -1,
            tls: SSLContext | None = None,
        ) -> Outbound:
            link = _Link(self, (broker_id, address[1]), receiver)
            self._open[link] = None
            if self.is_cut(link):
                link.wait(timeout_ms)
            else:
                link.outbound = self.connect(
                    address,
                    link,
                    timeout_ms=timeout_ms,
                    max_frame=max_frame,
                    receive_buffer=receive_buffer,
                    tls=tls,
                )
            return link

        return connect

    def isolate(self, broker_id: int) -> None:
        """Cut every connection of this broker with others; a connection to itself stays."""
        self.isolated.add(broker_id)

    def heal(self) -> None:
        """Undo all cuts, and deliver the data that waits."""
        self.isolated.clear()
        for link in tuple(self._open):
            link.heal()

    def is_cut(self, link: _Link) -> bool:
        """Return whether the connection is cut."""
        source, port = link.ends
        target = self._ports.get(port)
        return source != target and (source in self.isolated or target in self.isolated)

    def forget(self, link: _Link) -> None:
        """Forget a connection that has ended."""
        self._open.pop(link, None)


class _Link:
    """One connection: the `Outbound` of the broker that made it, and the `Receiver` of the real
    connection.
    """

    def __init__(self, links: Links, ends: tuple[int, int], receiver: Receiver) -> None:
        self.ends = ends
        """The id of the broker that connects, and the port that it connects to."""
        self.outbound: Outbound | None = None
        self._links = links
        self._receiver = receiver
        self._held: list[Callable[[], object]] = []
        self._timer: Timer | None = None

    def wait(self, timeout_ms: float) -> None:
        """End the connection with TIMED_OUT after `timeout_ms`: the peer cannot be reached."""
        self._timer = self._links.clock.call_later(timeout_ms, lambda: self._ended(Ending.TIMED_OUT))

    def heal(self) -> None:
        """Carry out the calls that were delayed while the connection was cut."""
        held, self._held = self._held, []
        for act in held:
            act()

    # Calls by the broker

    def send(self, pieces: Sequence[Piece]) -> None:
        if self._holds:
            pieces = [bytes(piece) for piece in pieces]
        self._do(lambda: self._send(pieces))

    def _send(self, pieces: Sequence[Piece]) -> None:
        if self.outbound is not None:
            self.outbound.send(pieces)

    def close(self) -> None:
        self._held.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self.outbound is not None:
            self.outbound.close()
        self._links.forget(self)

    # Calls by the connection

    def connected(self) -> None:
        self._do(self._receiver.connected)

    def received(self, frame: memoryview) -> None:
        self._do(lambda: self._receiver.received(frame))

    def ended(self, ending: Ending) -> None:
        self._do(lambda: self._ended(ending))

    def _ended(self, ending: Ending) -> None:
        self._links.forget(self)
        self._receiver.ended(ending)

    @property
    def _holds(self) -> bool:
        return bool(self._held) or self._links.is_cut(self)

    def _do(self, act: Callable[[], object]) -> None:
        if self._holds:
            self._held.append(act)
        else:
            act()
