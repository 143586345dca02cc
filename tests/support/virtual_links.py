"""Connections between the brokers of a simulation, and the links that carry them.

A link is one way from one host to another. What it carries arrives in order, a while later; what it carries
while it is cut arrives once it is healed, as the packets that a real system sends again do.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from kcompat.net.frame_reader import SCRATCH_SIZE, BadFrameError, FrameReader
from kcompat.net.outbound import Ending
from support.memory_transport import MemoryConnection, OtherEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random
    from ssl import SSLContext

    from kcompat.net.outbound import Receiver
    from support.virtual_network import VirtualNetwork


class Link:
    """Carries calls from one host to another; a call is what an arrival there does."""

    def __init__(self, random: Random, longest_delay_s: float) -> None:
        self.is_cut = False
        self._random = random
        self._longest_delay_s = longest_delay_s
        self._under_way: deque[tuple[float, Callable[[], object]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def carry(self, arrive: Callable[[], object]) -> None:
        """Call `arrive` when it is there."""
        due = asyncio.get_running_loop().time() + self._random.uniform(0, self._longest_delay_s)
        if self._under_way:
            due = max(due, self._under_way[-1][0])
        self._under_way.append((due, arrive))
        self._set_timer()

    def cut(self) -> None:
        """Nothing arrives any more."""
        self.is_cut = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def heal(self) -> None:
        """All that was held up arrives now, and the link is as quick as before."""
        self.is_cut = False
        self._set_timer()

    def slow(self, longest_delay_s: float) -> None:
        """Delay bytes that are sent from now on by up to this time."""
        self._longest_delay_s = longest_delay_s

    def _set_timer(self) -> None:
        if self._timer is None and self._under_way and not self.is_cut:
            self._timer = asyncio.get_running_loop().call_at(self._under_way[0][0], self._arrive)

    def _arrive(self) -> None:
        self._timer = None
        _, arrive = self._under_way.popleft()
        self._set_timer()
        arrive()


class VirtualConnector:
    """The `kcompat.net.outbound.Connect` of a broker on one host of a `VirtualNetwork`."""

    def __init__(self, network: VirtualNetwork, host: str) -> None:
        self._network = network
        self.host = host
        self.connections: list[VirtualOutbound] = []

    def __call__(
        self,
        address: tuple[str, int],
        receiver: Receiver,
        *,
        timeout_ms: float,
        max_frame: int,
        receive_buffer: int = -1,
        tls: SSLContext | None = None,
    ) -> VirtualOutbound:
        assert tls is None, "nothing is encrypted in memory"
        connection = VirtualOutbound(self._network, self, address, receiver, max_frame)
        connection.open(timeout_ms)
        return connection

    def host_died(self, host: str) -> None:
        """End all connections of this host."""
        for connection in list(self.connections):
            if host == self.host:
                connection.close()
            elif host == connection.address[0]:
                connection.be_reset()


class VirtualOutbound:
    """A connection of one broker to another. What becomes of it is written down by the network."""

    def __init__(
        self,
        network: VirtualNetwork,
        connector: VirtualConnector,
        address: tuple[str, int],
        receiver: Receiver,
        max_frame: int,
    ) -> None:
        self.address = address
        self._network = network
        self._connector = connector
        self._receiver = receiver
        self._frames = FrameReader(memoryview(bytearray(SCRATCH_SIZE)), max_frame)
        self._there = network.link(connector.host, address[0])
        self._back = network.link(address[0], connector.host)
        self._end: _FarEnd | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        connector.connections.append(self)

    def open(self, timeout_ms: float) -> None:
        """Begin to connect."""
        self._timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, self._fail, Ending.TIMED_OUT)
        self._there.carry(self._ask)

    def _ask(self) -> None:
        if self._is_closed:
            return
        try:
            self._end = self._network.open(*self.address, self._connector.host, self._make_end)
        except ConnectionRefusedError:
            self._back.carry(lambda: self._fail(Ending.REFUSED))
            return
        self._back.carry(self._accepted)

    def _make_end(self, connection: MemoryConnection) -> _FarEnd:
        return _FarEnd(connection, self._back, self._arrived)

    def _accepted(self) -> None:
        if not self._is_closed and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._tell("is connected")
            self._receiver.connected()

    def _arrived(self, data: bytes) -> None:
        """Bytes of the other broker are here; none of them is the end."""
        if not data:
            self._fail(Ending.CLOSED)
        while data and not self._is_closed:
            room = self._frames.room()
            count = min(len(room), len(data))
            room[:count] = data[:count]
            data = data[count:]
            try:
                frames = self._frames.received(count)
            except BadFrameError:
                self._fail(Ending.BAD_FRAME)
                return
            for frame in frames:
                if not self._is_closed:
                    self._tell(f"receives {frame.hex()}")
                    self._receiver.received(frame)

    def send(self, pieces: Sequence[bytes | bytearray | memoryview]) -> None:
        end = self._end
        assert end is not None, "nobody has accepted"
        data = b"".join(pieces)
        if not self._is_closed:
            self._tell(f"sends {data.hex()}")
            self._there.carry(lambda: end.deliver(data))

    def close(self) -> None:
        end = self._forget()
        if end is not None:
            self._there.carry(lambda: end.deliver(b""))

    def be_reset(self) -> None:
        """The process at the other end is no more: what it would still do is not done."""
        end = self._end
        if end is not None:
            end.is_ended = True
            self._back.carry(lambda: self._fail(Ending.RESET))

    def _fail(self, ending: Ending) -> None:
        if self._is_closed:
            return
        end = self._forget()
        if end is not None and ending is not Ending.CLOSED:
            self._there.carry(lambda: end.deliver(b""))
        self._tell(f"has ended: {ending.value}")
        self._receiver.ended(ending)

    def _forget(self) -> _FarEnd | None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self in self._connector.connections:
            self._connector.connections.remove(self)
        end, self._end = self._end, None
        return end

    def _tell(self, what: str) -> None:
        self._network.told(f"{self._connector.host} to {self.address[0]}: {what}")


class _FarEnd(OtherEnd):
    """Where the other broker's bytes go before they are on their way."""

    def __init__(self, connection: MemoryConnection, back: Link, arrived: Callable[[bytes], object]) -> None:
        super().__init__(connection)
        self._back = back
        self._arrived = arrived

    def feed(self, data: bytes) -> None:
        if self.is_ended:
            return  # the process that sends this is no more
        super().feed(data)
        self._back.carry(lambda: self._read(len(data)))

    def _read(self, count: int) -> None:
        data = bytes(self.unread[:count])
        del self.unread[:count]
        self._connection.peer_has_read()
        self._arrived(data)

    def end(self) -> None:
        super().end()
        self._back.carry(lambda: self._arrived(b""))

    def deliver(self, data: bytes) -> None:
        """Bytes for the other broker; none of them is the end."""
        if not self.is_ended:
            self._connection.arrive(data)
