"""The state that all conversations of one event loop share: scratch buffer, memory, deadlines, counters."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from weakref import WeakKeyDictionary

from kcompat.faults import contained
from kcompat.net.connection_rates import NO_ADDRESS_LIMITS, ConnectionRates
from kcompat.net.frame_buffer import STEP, BufferPool, FrameBuffer, whole_size
from kcompat.net.gate import STARVED
from kcompat.net.limits import Limits, ReceiveMemory
from kcompat.net.loop_clock import LoopClock
from kcompat.net.loop_iteration import LoopIteration
from kcompat.net.sizes import GRAIN, KIB
from kcompat.notices.causes import SLOW
from kcompat.notices.notices import Notices

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from kcompat.net.answers import Waiting
    from kcompat.net.interception import ConnectionObserver
    from kcompat.notices.cause import Cause
    from kcompat.security.principals import Principal

SCRATCH_SIZE: Final = 1088 * KIB
"""Bytes received at a time: enough for a client's full batch, which is then served in place.

With room for two batches, both would be answered together, and client and broker would wait alternately.
"""
CAREFUL_READ: Final = 256 * KIB
"""Bytes received at a time while half-received frames take more memory than the share of one address."""
SHORT_READ: Final = 4 * KIB
"""Bytes received at a time while all receive memory is taken or a conversation waits for some, since received
bytes must be kept."""
WOKEN_PER_RELEASE: Final = 16
"""Maximum number of conversations that try again to get memory when some was released: most would find none.
"""


class HubMember(Hashable, Protocol):
    """The part of a conversation that a hub uses."""

    peer_host: str
    peer_port: int
    local_address: tuple[str, int]
    listener_name: str
    principal: Principal
    last_active: float
    lead: int
    max_frame: int

    def clear(self, bit: int) -> None:
        """Clear a bit of the gate: one of the reasons for which frames are held back no longer applies."""

    def overdue(self, now: float) -> str | None:
        """Return the reason to close the connection if one of its deadlines has passed at `now`, or None."""

    def finish(self) -> None:
        """Take no more frames, end waiting fetches, and close once the answers so far have been sent."""

    def close(self, reason: str) -> None:
        """Close at once; waiting answers are dropped. The counters of closed connections are by `reason`."""


class Shared(Protocol):
    """An object that all connections of one transport share, made by `Hub.share`."""

    def close(self) -> None:
        """Close the object; called when the hub stops."""


S = TypeVar("S", bound=Shared)


_SCRATCHES: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, bytearray]] = WeakKeyDictionary()


def _scratch_of(loop: asyncio.AbstractEventLoop) -> bytearray:
    """Return the buffer into which all connections of a loop receive. Clearing a new one takes a third of the
    time of a restart in place.
    """
    scratch = _SCRATCHES.get(loop)
    if scratch is None:
        scratch = _SCRATCHES[loop] = bytearray(SCRATCH_SIZE + GRAIN)
    return scratch


class Hub:
    """Shared state of the conversations of one event loop. Call `start` before the first connection, `stop`
    after the last.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        limits: Limits | None = None,
        iteration: LoopIteration | None = None,
        address_limits: Mapping[str | None, float] = NO_ADDRESS_LIMITS,
        notices: Notices | None = None,
    ) -> None:
        """Make a hub of the running loop. `iteration` is the loop's `LoopIteration` if one exists already.
        `address_limits` are described in `connection_rates`. `notices` is the log of the failures of clients;
        without it the hub has one of its own.
        """
        self.loop = loop
        self.iteration = iteration or LoopIteration(loop)
        self.limits = limits or Limits()
        self.scratch = _scratch_of(loop)
        self.scratch_view = memoryview(self.scratch)
        self.read_size = SCRATCH_SIZE
        self.memory = ReceiveMemory(self.limits.receive_memory, self.limits.receive_memory_per_ip)
        self.buffers = BufferPool()
        self.connections: dict[HubMember, None] = {}
        """Open connections, the oldest first. A dict, since the order of a set would differ between runs of a
        simulation."""
        self.now: float = loop.time()
        """The loop's time in seconds as of the last sweep: exact enough for idle times, and cheap to read."""
        self.closed: Counter[str] = Counter()
        """Connections closed, by reason."""
        self.observers: list[ConnectionObserver] = []
        self.notices = notices or Notices(LoopClock(loop, self.iteration))
        self.report = self.notices.tell  # bound once, as each connection has it
        self._per_host: dict[str, int] = {}
        self._per_listener: dict[str, int] = {}
        self._rates = ConnectionRates(address_limits)
        self._endings: dict[HubMember, list[Callable[[], object]]] = {}
        self._starved: deque[HubMember] = deque()
        self._feeding = False
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._emptied: asyncio.Future[None] | None = None
        self._shared: dict[object, Any] = {}

    def when_closed(self, connection: HubMember, callback: Callable[[], object]) -> None:
        """Call `callback` once when the connection has ended; at once if it has already."""
        if connection in self.connections:
            self._endings.setdefault(connection, []).append(callback)
        else:
            callback()

    def start(self) -> None:
        """Start to check deadlines."""
        if self._sweep_timer is None:
            self._sweep_timer = self.loop.call_later(self.limits.sweep_period_s, self._sweep)

    def stop(self) -> None:
        """Close every connection and stop the sweep."""
        for connection in list(self.connections):
            connection.close("stopped")
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
            self._sweep_timer = None
        for shared in self._shared.values():
            shared.close()
        self._shared.clear()
        self.notices.close()

    def share(self, make: Callable[[Hub], S]) -> S:
        """Return the object that all connections of a transport share, made by `make(hub)` at the first call.

        `stop` closes it.
        """
        if make not in self._shared:
            self._shared[make] = make(self)
        shared: S = self._shared[make]
        return shared

    # Counting connections

    def admits(self, host: str) -> bool:
        """Return whether `host` may have one more connection."""
        limits = self.limits
        allowed = limits.per_ip_overrides.get(host, limits.max_connections_per_ip)
        return self._per_host.get(host, 0) < allowed

    @property
    def is_full(self) -> bool:
        """Whether `max.connections` is reached."""
        return len(self.connections) >= self.limits.max_connections

    def is_full_at(self, listener: str) -> bool:
        """Return whether a listener has as many connections as it may have."""
        return self._per_listener.get(listener, 0) >= self.limits.at(listener).max_connections

    def admits_now(self, host: str) -> bool:
        """Return whether `host` has not made too many connections lately; count one more if so."""
        return self._rates.admits(host, self.limits, self._now_ms())

    def pause_after_accept(self, listener: str, *, protected: bool) -> float:
        """Count a connection that a listener has accepted; return for how many seconds it should pause.

        `protected` marks the inter-broker listener.
        """
        return self._rates.accept(listener, self.limits, self._now_ms(), protected=protected) / 1000

    def _now_ms(self) -> int:
        return int(self.loop.time() * 1000)

    def add(self, connection: HubMember) -> None:
        """Register an accepted connection."""
        host = connection.peer_host
        self.connections[connection] = None
        self._per_host[host] = self._per_host.get(host, 0) + 1
        listener = connection.listener_name
        self._per_listener[listener] = self._per_listener.get(listener, 0) + 1
        for observer in self.observers:
            observer.opened(connection)

    def remove(self, connection: HubMember, reason: str) -> None:
        """Forget a closed connection, and run its `when_closed` callbacks."""
        host = connection.peer_host
        self.connections.pop(connection, None)
        self.closed[reason] += 1
        if not self.connections and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)
        left = self._per_host[host] - 1
        if left:
            self._per_host[host] = left
        else:
            del self._per_host[host]
        self._per_listener[connection.listener_name] -= 1
        for observer in self.observers:
            observer.closed(connection, reason)
        for callback in self._endings.pop(connection, ()):
            with contained("somebody who was to be told of the end of a connection"):
                callback()

    def close_longest_idle(self, spared: str) -> bool:
        """Close the longest idle connection of any listener but `spared`; return False if there is none."""
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

    def complain(self, host: str, cause: Cause, **details: object) -> None:
        """Log why the connection of a peer is closed or its login was refused, and notify the observers."""
        for observer in self.observers:
            observer.complained(host, cause.reason(details))
        self.notices.tell(cause, host, **details)

    # Receive memory

    def hold(self, received: memoryview, connection: HubMember) -> FrameBuffer:
        """Return a buffer with received bytes that cannot be handed on now. The limits do not apply, since
        the bytes were received already.
        """
        size, max_frame = len(received), connection.max_frame
        wanted = GRAIN + max(size, whole_size(received, 0, size, max_frame))
        data = self.buffers.take(wanted) if wanted > STEP else None
        if data is None:
            data = bytearray(min(wanted, max(STEP, 2 * size)))
        self._count(len(data), connection)
        return FrameBuffer(data, received, max_frame, connection.lead)

    def enlarge(self, held: FrameBuffer, connection: HubMember) -> bool:
        """Give the full buffer `held` more room.

        Returns False if no memory is available; the gate's bit STARVED of the connection is cleared when
        memory is released.
        """
        wanted = held.wanted()
        data = self.buffers.take(wanted) if wanted > STEP else None
        size = len(data) if data is not None else min(wanted, max(STEP, 2 * len(held.data)))
        if not self.memory.reserve(connection, connection.peer_host, size - len(held.data)):
            if data is not None:
                self.buffers.give(data)
            self._starved.append(connection)
            self._choose_read_size()
            return False
        self.buffers.give(held.move_to(data if data is not None else bytearray(size)))
        return True

    def release(self, held: FrameBuffer, connection: HubMember) -> None:
        """Take back a buffer, and let conversations that wait for memory try again."""
        self.buffers.give(held.data)
        self._freed(len(held.data), connection)

    def keep(self, waiting: Waiting, connection: HubMember) -> None:
        """Count the bytes of a frame that a later answer needs as receive memory until that answer is
        complete, even if the connection ends before.
        """
        self._count(waiting.holds, connection)
        waiting.promise.then(lambda _: self._freed(waiting.holds, connection))

    def _count(self, size: int, connection: HubMember) -> None:
        self.memory.count(connection.peer_host, size)
        self._choose_read_size()

    def _freed(self, size: int, connection: HubMember) -> None:
        self.memory.release(connection, connection.peer_host, size)
        self._choose_read_size()
        if self._starved and not self._feeding:
            self._feeding = True
            self.loop.call_soon(self._feed, WOKEN_PER_RELEASE)

    def _feed(self, count: int) -> None:
        self._feeding = False
        for _ in range(min(count, len(self._starved))):
            self._starved.popleft().clear(STARVED)
        self._choose_read_size()

    def _choose_read_size(self) -> None:
        used, limits = self.memory.used, self.limits
        if self._starved or used >= limits.receive_memory:
            self.read_size = SHORT_READ
        elif used > limits.receive_memory_per_ip:
            self.read_size = CAREFUL_READ
        else:
            self.read_size = SCRATCH_SIZE

    # Deadlines

    def _sweep(self) -> None:
        # Scheduled first, so that a fault below does not end the sweeps.
        self._sweep_timer = self.loop.call_later(self.limits.sweep_period_s, self._sweep)
        self.now = now = self.loop.time()
        for connection in list(self.connections):
            reason = connection.overdue(now)
            if reason is not None:
                if reason != "idle":
                    self.complain(connection.peer_host, SLOW, reason=reason)
                connection.close(reason)
        self._feed(len(self._starved))
        self.buffers.trim()
