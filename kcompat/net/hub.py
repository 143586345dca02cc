"""What all connections of one event loop share: poller, scratch buffer, memory, limits, sweep, counters."""

from __future__ import annotations

import logging
from collections import Counter, deque
from math import inf
from typing import TYPE_CHECKING, Final

from kcompat.net.frame_buffer import BufferPool
from kcompat.net.limits import KIB, Limits, ReceiveMemory
from kcompat.net.placing import GRAIN
from kcompat.net.poller import Poller

if TYPE_CHECKING:
    import asyncio

    from kcompat.net.answers import Waiting
    from kcompat.net.connection import Connection

logger = logging.getLogger(__name__)

SCRATCH_SIZE: Final = 1088 * KIB
"""One read event: a client's full batch is served where it was received. With room for two, both are answered
together, and client and broker wait for each other in turns.
"""
CAREFUL_READ: Final = 256 * KIB
"""The same while begun frames take more than the share of one address: what was read must be kept."""
SHORT_READ: Final = 4 * KIB
"""The same while all receive memory is taken, or somebody waits for some."""
WOKEN_PER_RELEASE: Final = 16
MAX_LOG_HOSTS: Final = 1000


class Hub:
    """One per event loop. `start` it before the first connection, `stop` it after the last."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limits: Limits | None = None) -> None:
        self.loop = loop
        self.limits = limits or Limits()
        self.poller = Poller(self)
        self.scratch = bytearray(SCRATCH_SIZE + GRAIN)
        self.scratch_view = memoryview(self.scratch)
        self.read_size = SCRATCH_SIZE
        self.memory = ReceiveMemory(self.limits.receive_memory, self.limits.receive_memory_per_ip)
        self.buffers = BufferPool()
        self.connections: set[Connection] = set()
        self.now: float = loop.time()
        """The loop's time in seconds as of the last sweep: exact enough for idleness, and free."""
        self.closed: Counter[str] = Counter()
        """Connections closed, by reason."""
        self._per_host: dict[str, int] = {}
        self._starved: deque[Connection] = deque()
        self._feeding = False
        self._logged_at: dict[str, float] = {}
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._emptied: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Begin to look at deadlines."""
        if self._sweep_timer is None:
            self._sweep_timer = self.loop.call_later(self.limits.sweep_period_s, self._sweep)

    def stop(self) -> None:
        """Close every connection and stop the sweep."""
        for connection in list(self.connections):
            connection.close("stopped")
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
            self._sweep_timer = None
        self.poller.close()

    # Counting connections

    def admits(self, host: str) -> bool:
        """Whether `host` may have one more connection."""
        limits = self.limits
        allowed = limits.per_ip_overrides.get(host, limits.max_connections_per_ip)
        return self._per_host.get(host, 0) < allowed

    @property
    def is_full(self) -> bool:
        """Whether `max.connections` is reached."""
        return len(self.connections) >= self.limits.max_connections

    def add(self, connection: Connection) -> None:
        """Register an accepted connection."""
        host = connection.peer_host
        self.connections.add(connection)
        self._per_host[host] = self._per_host.get(host, 0) + 1

    def remove(self, connection: Connection, reason: str) -> None:
        """Forget a closed connection."""
        host = connection.peer_host
        self.connections.discard(connection)
        self.closed[reason] += 1
        if not self.connections and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)
        left = self._per_host[host] - 1
        if left:
            self._per_host[host] = left
        else:
            del self._per_host[host]

    def close_longest_idle(self, spared: str) -> bool:
        """Close the longest idle connection of any listener but `spared`; False if there is none."""
        others = [connection for connection in self.connections if connection.listener_name != spared]
        if not others:
            return False
        min(others, key=lambda connection: connection.last_active).close("made room for a broker")
        return True

    async def until_empty(self) -> None:
        """Wait until no connection is left."""
        if self.connections:
            self._emptied = self.loop.create_future()
            await self._emptied

    def complain(self, host: str, message: str) -> None:
        """Log about a peer, at most one line a second per address."""
        now = self.loop.time()
        if now < self._logged_at.get(host, -inf) + 1.0:
            return
        self._logged_at.pop(host, None)
        self._logged_at[host] = now
        if len(self._logged_at) > MAX_LOG_HOSTS:
            del self._logged_at[next(iter(self._logged_at))]
        logger.warning("%s: %s", host, message)

    # Receive memory

    def starve(self, connection: Connection) -> None:
        """Let a connection wait for receive memory; it is told by `Connection.memory_freed`."""
        self._starved.append(connection)
        self._choose_read_size()

    def hold(self, connection: Connection, size: int) -> None:
        """Count a buffer for bytes that are there already, whatever the limits say."""
        self.memory.count(connection.peer_host, size)
        self._choose_read_size()

    def _choose_read_size(self) -> None:
        used, limits = self.memory.used, self.limits
        if self._starved or used >= limits.receive_memory:
            self.read_size = SHORT_READ
        elif used > limits.receive_memory_per_ip:
            self.read_size = CAREFUL_READ
        else:
            self.read_size = SCRATCH_SIZE

    def release(self, connection: Connection, data: bytearray) -> None:
        """Take back the buffer of a connection and let those who wait for memory try again."""
        self.buffers.give(data)
        self._freed(connection, len(data))

    def keep(self, connection: Connection, waiting: Waiting) -> None:
        """Count what a later answer holds of its frame until that answer is there, connection or not."""
        self.hold(connection, waiting.holds)
        waiting.promise.then(lambda _: self._freed(connection, waiting.holds))

    def _freed(self, connection: Connection, size: int) -> None:
        self.memory.release(connection, connection.peer_host, size)
        self._choose_read_size()
        if self._starved and not self._feeding:
            self._feeding = True
            self.loop.call_soon(self._feed, WOKEN_PER_RELEASE)

    def _feed(self, count: int) -> None:
        self._feeding = False
        for _ in range(min(count, len(self._starved))):
            self._starved.popleft().memory_freed()
        self._choose_read_size()

    # Deadlines

    def _sweep(self) -> None:
        self.now = now = self.loop.time()
        for connection in list(self.connections):
            reason = connection.overdue(now)
            if reason is not None:
                if reason != "idle":
                    self.complain(connection.peer_host, f"connection closed: {reason}")
                connection.close(reason)
        self._feed(len(self._starved))
        self.buffers.trim()
        self._sweep_timer = self.loop.call_later(self.limits.sweep_period_s, self._sweep)
