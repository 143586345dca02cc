"""Limits on the cost of a peer: sizes, counts and deadlines of connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from kcompat.net.sizes import KIB, MIB
from kcompat.security.quotas.rates import QuotaWindow

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

UNLIMITED: Final = 2**31 - 1
"""Number of connections, or of new ones per second, that stands for no limit."""


class ListenerLimits(Struct, frozen=True):
    """The limits of one listener, in addition to those of the broker."""

    max_connections: int = UNLIMITED
    """`listener.name.NAME.max.connections`: over it, the listener stops accepting until one of its
    connections ends."""
    max_rate: int = UNLIMITED
    """`listener.name.NAME.max.connection.creation.rate`: over it, the listener accepts none for a while."""


NO_LISTENER_LIMITS: Final = ListenerLimits()


class Limits(Struct, frozen=True):
    """The limits of all connections of a server. Times are in seconds, sizes in bytes."""

    max_frame: int = 100 * MIB
    """`socket.request.max.bytes`: the largest frame, without its length prefix."""
    max_idle_s: float = 600.0
    """`connections.max.idle.ms`: closed after this time without a byte received, unless an answer is due."""
    max_connections: int = UNLIMITED
    """`max.connections`: over it, listeners stop accepting until a connection ends."""
    max_connections_per_ip: int = 1024
    """`max.connections.per.ip`: over it, a connection is accepted and closed."""
    per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """`max.connections.per.ip.overrides`, by numeric address."""
    max_rate: int = UNLIMITED
    """`max.connection.creation.rate`: connections per second that the broker accepts; over it, each listener
    but the protected one accepts none for a while."""
    by_listener: Mapping[str, ListenerLimits] = field(default_factory=dict)
    """The limits of single listeners, by name."""
    rate_window: QuotaWindow = field(default_factory=QuotaWindow)
    """`quota.window.num` and `quota.window.size.seconds`: the window of all rates of connections."""
    header_deadline_s: float = 30.0
    """Longest time from the accept, or from the first byte of a later frame, until its length prefix is
    there."""
    handshake_deadline_s: float = 10.0
    """Longest time from the accept until the TLS handshake is done."""
    body_deadline_s: float = 60.0
    """Longest time from the length prefix until the frame is there, in addition to its size divided by
    `body_rate`."""
    body_rate: int = 64 * KIB
    """Bytes per second that even the slowest sender of a big frame must reach."""
    write_deadline_s: float = 60.0
    """Longest time in which a peer takes no byte of unsent answers; then the connection is closed."""
    max_unsent: int = 128 * MIB
    """Bytes of answers that one connection may hold in memory before no more of its frames are handed on."""
    max_pipelined: int = 1000
    """Number of waiting answers from which on no more frames of their connection are handed on."""
    receive_memory: int = 256 * MIB
    """Bytes of the buffers for frames that are not whole yet, over all connections."""

    def at(self, listener: str) -> ListenerLimits:
        """Return the limits of one listener."""
        return self.by_listener.get(listener, NO_LISTENER_LIMITS)

    @property
    def receive_memory_per_ip(self) -> int:
        """Bytes of `receive_memory` that one address may take."""
        return self.receive_memory // 8

    def time_to_receive(self, size: int) -> float:
        """Return the seconds allowed for the rest of a frame of `size` bytes; 0 is an unknown size."""
        return self.body_deadline_s + size / self.body_rate if size else self.header_deadline_s

    def overdue(
        self, now: float, *, unsent_since: float | None, deadline: float, idle_since: float
    ) -> str | None:
        """Return the reason to end a connection at `now`, or None.

        `unsent_since` is the time at which the peer last took a byte of the answers that wait for it, None if
        none waits; `deadline` is the time by which the frame that has begun must be complete, 0 if there is
        none; `idle_since` is the time of the last received byte.
        """
        if unsent_since is not None:
            return "slow reader" if now - unsent_since > self.write_deadline_s else None
        if deadline and now > deadline:
            return "unfinished frame"
        # `idle_since` may be one period of the sweep too early.
        return "idle" if now - idle_since > self.max_idle_s + self.sweep_period_s else None

    @property
    def sweep_period_s(self) -> float:
        """Seconds between two checks of all deadlines: short enough for the shortest of them."""
        shortest = min(
            self.max_idle_s,
            self.header_deadline_s,
            self.handshake_deadline_s,
            self.body_deadline_s,
            self.write_deadline_s,
        )
        return min(2.0, max(0.01, shortest / 4))


class ReceiveMemory:
    """Memory of half-received frames, counted in all and per address.

    A connection whose reservation is refused pauses until others release memory. So that half-received frames
    can never block each other for good, one owner at a time may exceed the limit of its address, and one the
    total.
    """

    __slots__ = ("_by_host", "_limit", "_overdrawn", "_per_host", "used")

    def __init__(self, limit: int, per_host: int) -> None:
        self._limit = limit
        self._per_host = per_host
        self._by_host: dict[str, int] = {}
        self._overdrawn: dict[str | None, Hashable] = {}
        self.used = 0

    def reserve(self, owner: Hashable, host: str, size: int) -> bool:
        """Count `size` bytes more for `owner`; if the limits forbid it, count nothing and return False."""
        of_host = self._by_host.get(host, 0) + size
        if of_host > self._per_host and self._overdrawn.setdefault(host, owner) is not owner:
            return False
        if self.used + size > self._limit and self._overdrawn.setdefault(None, owner) is not owner:
            return False
        self.count(host, size)
        return True

    def count(self, host: str, size: int) -> None:
        """Count bytes that are allocated already, regardless of the limits."""
        self._by_host[host] = self._by_host.get(host, 0) + size
        self.used += size

    def release(self, owner: Hashable, host: str, size: int) -> None:
        """Release all bytes of `owner`."""
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
        """Check that the total is the sum of the parts."""
        assert self.used == sum(self._by_host.values())
