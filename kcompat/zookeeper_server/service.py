"""State that all connections of one server share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kcompat.zookeeper_server.access import NodePermission, allows
from kcompat.zookeeper_server.sessions import ClientSessions
from kcompat.zookeeper_server.watches import WatchTable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from kcompat.clock import Clock
    from kcompat.store.interface import EventType
    from kcompat.store.tree import NodeChange, StoredSession
    from kcompat.zookeeper_server.access import Identity
    from kcompat.zookeeper_server.sessions import Backend, ClientSession


class ServerConfig(Struct, frozen=True, kw_only=True):
    """Settings of the server, with ZooKeeper's names and defaults; times in ms."""

    client_port: int = 2181
    tick_time_ms: int = 2000
    min_session_timeout_ms: int = 4000
    max_session_timeout_ms: int = 40_000
    max_client_cnxns: int = 60
    """Maximum number of connections of one address; 0 for no limit."""
    sessionless_timeout_ms: int = 10_000
    """Time in ms that a connection has for its first request."""
    data_dir: str = ""


class ServiceStatistics:
    """Counters of requests, and their latencies in ms."""

    __slots__ = ("_total_ms", "count", "longest_ms", "received", "sent", "shortest_ms")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set all counters to zero."""
        self.received = 0
        self.sent = 0
        self.count = 0
        self.shortest_ms = 0
        self.longest_ms = 0
        self._total_ms = 0

    def answered(self, latency_ms: int) -> None:
        """Count a request that was answered, with its latency."""
        self.shortest_ms = min(self.shortest_ms, latency_ms) if self.count else latency_ms
        self.longest_ms = max(self.longest_ms, latency_ms)
        self._total_ms += latency_ms
        self.count += 1

    @property
    def average_ms(self) -> float:
        """Average latency of all answered requests in ms."""
        return self._total_ms / self.count if self.count else 0.0


class ConnectedClient(Hashable, Protocol):
    """A client connection, as the service uses it."""

    host: str
    port: int
    session: ClientSession | None
    identities: tuple[Identity, ...]
    statistics: ServiceStatistics
    since_ms: int
    """Time in ms when the connection was made."""
    last_operation: str
    last_xid: int

    @property
    def session_id(self) -> int:
        """Id of the connection's session; 0 before the session is opened."""

    @property
    def waiting(self) -> int:
        """Number of requests without a reply yet."""

    def notify(self, event: EventType, path: str) -> None:
        """Send the client a watch event."""

    def hang_up(self) -> None:
        """Close the connection."""


class Service:
    """State of a server without its sockets: sessions, watches and connections."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        random: Random,
        config: ServerConfig,
        stored: Mapping[int, StoredSession],
    ) -> None:
        """Begin with the sessions that the store kept of an earlier process (`stored`)."""
        self.backend = backend
        self.clock = clock
        self.config = config
        self.sessions = ClientSessions(backend, clock, random, stored)
        self.watches: WatchTable[ConnectedClient] = WatchTable()
        self.statistics = ServiceStatistics()
        self.connections: dict[ConnectedClient, None] = {}
        self._of_host: Counter[str] = Counter()

    def admits(self, host: str) -> bool:
        """Return whether the address `host` may open one more connection."""
        most = self.config.max_client_cnxns
        return not most or self._of_host[host] < most

    def add(self, connection: ConnectedClient) -> None:
        """Register a connection."""
        self.connections[connection] = None
        self._of_host[connection.host] += 1

    def remove(self, connection: ConnectedClient) -> None:
        """Remove a connection and its watches; its session is kept. Harmless when repeated."""
        if connection not in self.connections:
            return
        del self.connections[connection]
        self.watches.remove_all(connection)
        self._of_host[connection.host] -= 1
        if not self._of_host[connection.host]:
            del self._of_host[connection.host]

    def changed(self, change: NodeChange) -> None:
        """Notify the watchers of a change.

        A watcher that may not read the node gets no event, but its watch is used up.
        """
        event = change.event
        for connection in self.watches.trigger(event.type, event.path):
            if allows(change.acl, NodePermission.READ, connection.identities):
                connection.notify(event.type, event.path)

    def stop(self) -> None:
        """Close every connection. The sessions stay in the store, so that their clients can resume them."""
        self.sessions.stop()
        for connection in tuple(self.connections):
            connection.hang_up()
