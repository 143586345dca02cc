"""The state that the connections of one server share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kcompat.zookeeper_server.access import Permission, allows
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
    """ZooKeeper's settings of the same names, with its defaults; times in ms."""

    client_port: int = 2181
    tick_time_ms: int = 2000
    min_session_timeout_ms: int = 4000
    max_session_timeout_ms: int = 40_000
    max_client_cnxns: int = 60
    """Most connections of one address; 0 for any number."""
    sessionless_timeout_ms: int = 10_000
    """Seconds that a connection may take for its first request."""
    data_dir: str = ""


class Statistics:
    """Requests and how long they took, in ms."""

    __slots__ = ("_total_ms", "count", "longest_ms", "received", "sent", "shortest_ms")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start at zero."""
        self.received = 0
        self.sent = 0
        self.count = 0
        self.shortest_ms = 0
        self.longest_ms = 0
        self._total_ms = 0

    def answered(self, latency_ms: int) -> None:
        """Count an answered request."""
        self.shortest_ms = min(self.shortest_ms, latency_ms) if self.count else latency_ms
        self.longest_ms = max(self.longest_ms, latency_ms)
        self._total_ms += latency_ms
        self.count += 1

    @property
    def average_ms(self) -> float:
        """Average time of all answers in ms."""
        return self._total_ms / self.count if self.count else 0.0


class ConnectedClient(Hashable, Protocol):
    """A connection as the service sees it."""

    host: str
    port: int
    session: ClientSession | None
    identities: tuple[Identity, ...]
    statistics: Statistics
    since_ms: int
    """Time in ms when the connection was made."""
    last_operation: str
    last_xid: int

    @property
    def session_id(self) -> int:
        """Id of the connection's session; 0 before there is one."""

    @property
    def waiting(self) -> int:
        """Requests not answered yet."""

    def notify(self, event: EventType, path: str) -> None:
        """Notify the client of a change that it watches."""

    def hang_up(self) -> None:
        """Close the connection."""


class Service:
    """The server without its sockets."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        random: Random,
        config: ServerConfig,
        stored: Mapping[int, StoredSession],
    ) -> None:
        """`stored` are the sessions of an earlier process."""
        self.backend = backend
        self.clock = clock
        self.config = config
        self.sessions = ClientSessions(backend, clock, random, stored)
        self.watches: WatchTable[ConnectedClient] = WatchTable()
        self.statistics = Statistics()
        self.connections: dict[ConnectedClient, None] = {}
        self._of_host: Counter[str] = Counter()

    def admits(self, host: str) -> bool:
        """Return whether an address may have one more connection."""
        most = self.config.max_client_cnxns
        return not most or self._of_host[host] < most

    def add(self, connection: ConnectedClient) -> None:
        """Register a connection."""
        self.connections[connection] = None
        self._of_host[connection.host] += 1

    def remove(self, connection: ConnectedClient) -> None:
        """Forget a connection and its watches; its session lives on. Harmless when repeated."""
        if connection not in self.connections:
            return
        del self.connections[connection]
        self.watches.remove_all(connection)
        self._of_host[connection.host] -= 1
        if not self._of_host[connection.host]:
            del self._of_host[connection.host]

    def changed(self, change: NodeChange) -> None:
        """Notify the watchers of a change. A watcher that may not read the node gets no event, but its watch
        is used up.
        """
        event = change.event
        for connection in self.watches.trigger(event.type, event.path):
            if allows(change.acl, Permission.READ, connection.identities):
                connection.notify(event.type, event.path)

    def stop(self) -> None:
        """Close every connection. Sessions stay in the store, for their clients to take up again."""
        self.sessions.stop()
        for connection in tuple(self.connections):
            connection.hang_up()
