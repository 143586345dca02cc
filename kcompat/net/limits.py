"""Limits on the cost of a peer: sizes, counts and deadlines of connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kcompat.net.sizes import KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of all connections of a server. Times are in seconds, sizes in bytes."""

    max_frame: int = 100 * MIB
    """`socket.request.max.bytes`: the largest frame, without its length prefix."""
    max_idle_s: float = 600.0
    """`connections.max.idle.ms`: closed after this time without a byte, unless we owe an answer."""
    max_connections: int = 2**31 - 1
    """`max.connections`: over it, listeners stop accepting until a connection ends."""
    max_connections_per_ip: int = 1024
    """`max.connections.per.ip`: over it, a connection is accepted and closed."""
    per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """`max.connections.per.ip.overrides`, by numeric address."""
    header_deadline_s: float = 30.0
    """From the accept, or from the first byte of a later frame, until its length prefix is there."""
    body_deadline_s: float = 60.0
    """From the length prefix until the frame is there, plus its size at `body_rate`."""
    body_rate: int = 64 * KIB
    """Bytes per second that even the slowest sender of a big frame must reach."""
    write_deadline_s: float = 60.0
    """Unsent answers without a byte taken by the peer for this long close the connection."""
    max_unsent: int = 128 * MIB
    """Answers in memory for one connection."""
    max_pipelined: int = 1000
    """Answers of one connection that wait for earlier ones."""
    receive_memory: int = 256 * MIB
    """Buffers of frames that are not whole yet, over all connections."""

    @property
    def receive_memory_per_ip(self) -> int:
        """The share of `receive_memory` one address may take."""
        return self.receive_memory // 8

    def time_to_receive(self, size: int) -> float:
        """Seconds for the rest of a frame of `size` bytes; 0 is one whose length prefix is not there yet."""
        return self.body_deadline_s + size / self.body_rate if size else self.header_deadline_s

    @property
    def sweep_period_s(self) -> float:
        """Seconds between two checks of all deadlines: short enough for the shortest of them."""
        shortest = min(self.max_idle_s, self.header_deadline_s, self.body_deadline_s, self.write_deadline_s)
        return min(2.0, max(0.01, shortest / 4))


class ReceiveMemory:
    """Counts the memory of half-received frames, in all and per address.

    A refused connection pauses until others give memory back. So that half-received frames can never block
    each other for good, one owner at a time may go over the limit of its address, and one over the total.
    """

    __slots__ = ("_by_host", "_limit", "_overdrawn", "_per_host", "used")

    def __init__(self, limit: int, per_host: int) -> None:
        self._limit = limit
        self._per_host = per_host
        self._by_host: dict[str, int] = {}
        self._overdrawn: dict[str | None, Hashable] = {}
        self.used = 0

    def reserve(self, owner: Hashable, host: str, size: int) -> bool:
        """Count `size` bytes more for `owner`; False, and nothing counted, if they are not to be had now."""
        of_host = self._by_host.get(host, 0) + size
        if of_host > self._per_host and self._overdrawn.setdefault(host, owner) is not owner:
            return False
        if self.used + size > self._limit and self._overdrawn.setdefault(None, owner) is not owner:
            return False
        self.count(host, size)
        return True

    def count(self, host: str, size: int) -> None:
        """Count bytes that are there already, whatever the limits say."""
        self._by_host[host] = self._by_host.get(host, 0) + size
        self.used += size

    def release(self, owner: Hashable, host: str, size: int) -> None:
        """Give back all that `owner` holds."""
        self.used -= size
        left = self._by_host.get(host, 0) - size
        if left > 0:
            self._by_host[host] = left
        else:
            self._by_host.pop(host, None)
        if self._overdrawn:
            for key in (host, None):
                if self._overdrawn.get(key) is owner:
                    del self._overdrawn[key]

    def check_invariants(self) -> None:
        """The total is the sum of the parts."""
        assert self.used == sum(self._by_host.values())
