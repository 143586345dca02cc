"""The client of a whole cluster: finds the broker for a request, and tries again as Java's does.

Failed connections are tried again with back-off until `default.api.timeout.ms` is over. A request that was
sent is given `request.timeout.ms`.
"""

from __future__ import annotations

import math
import random
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kcompat.admin.connection import BrokerConnection, LostConnectionError, Node, Versioned, overdue
from kcompat.admin.contact import Contact, resolves
from kcompat.admin.errors import JavaError, error_of_code
from kcompat.admin.settings import no_client
from kcompat.admin.waiting import pause
from kcompat.peer.backoff import backoff_ms
from kcompat.peer.client import OPEN
from kcompat.peer.errors import PeerFault
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Self

    from kcompat.admin.settings import ClientSettings
    from kcompat.protocol.message import Message

ANY: Final = -1
"""Destination of a request that any broker can serve."""
CONTROLLER: Final = -2
"""Destination of a request for the controller."""

MOVED: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
"""Errors after which the client looks for the coordinator again."""


class ClusterView(Struct, frozen=True):
    """The brokers of a cluster, as one of them tells."""

    cluster_id: str | None
    controller_id: int
    """Id of the controller; -1 while there is none."""
    nodes: Mapping[int, Node]


class AdminClient:
    """Connections to the brokers of one cluster, opened when they are needed. Close it."""

    def __init__(self, settings: ClientSettings, *, logs: bool = True) -> None:
        """Connect to no broker yet; `logs` says whether failed connections are logged, as Java's client does.

        Raises:
            JavaError: the settings of TLS or of the login cannot be used, or the name of no broker resolves.
        """
        self.settings = settings
        self._contact = Contact(settings, logs=logs)
        self._security = OPEN
        if settings.has_tls or settings.has_login:
            from kcompat.admin.security import security_of  # late: it loads OpenSSL

            self._security = security_of(settings)
        addresses = list(filter(resolves, settings.bootstrap))
        if not addresses:
            raise no_client("No resolvable bootstrap urls given in bootstrap.servers")
        self._bootstrap = [Node(-n, *address) for n, address in enumerate(addresses, 1)]
        random.shuffle(self._bootstrap)
        self._connections: dict[tuple[str, int], BrokerConnection] = {}
        self._cluster: ClusterView | None = None
        self._coordinators: dict[tuple[int, str], int] = {}
        self._end_s = math.inf

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # What the cluster is

    def cluster(self, *, refresh: bool = False, timeout_ms: float | None = None) -> ClusterView:
        """Return the brokers and the controller; with `refresh`, ask for them again."""
        if self._cluster is None or refresh:
            self.topics([], timeout_ms=timeout_ms)
        assert self._cluster is not None
        return self._cluster

    def topics(
        self, names: Iterable[str] | None, name: str = "describeTopics", *, timeout_ms: float | None = None
    ) -> MetadataResponse:
        """Return metadata of topics, of all if `names` is None, and update `cluster`. No topic is created."""
        wanted = (
            None if names is None else [MetadataRequest.MetadataRequestTopic(name=each) for each in names]
        )

        def make(version: int) -> MetadataRequest:
            # Version 0 has no list for none; what else it tells is ignored.
            topics = [] if version == 0 and wanted is None else wanted
            return MetadataRequest(topics, allow_auto_topic_creation=False)

        response: MetadataResponse = self.ask(
            Versioned(ApiKey.METADATA, make), name=name, timeout_ms=timeout_ms
        )
        nodes = {
            each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in response.brokers
        }
        self._cluster = ClusterView(response.cluster_id, response.controller_id, nodes)
        return response

    def leaders(self, names: Iterable[str]) -> dict[tuple[str, int], int]:
        """Return the id of each partition's leader, -1 for none. Raises JavaError for a topic that is not
        there.
        """
        found: dict[tuple[str, int], int] = {}
        for topic in self.topics(names).topics:
            if topic.error_code:
                raise error_of_code(topic.error_code)
            found |= {(topic.name or "", each.partition_index): each.leader_id for each in topic.partitions}
        return found

    # Requests

    def ask(
        self,
        request: Message | Versioned,
        to: int = ANY,
        *,
        name: str = "",
        timeout_ms: float | None = None,
        request_ms: float | None = None,
        again: frozenset[ErrorCode] = frozenset(),
    ) -> Any:
        """Send a request to a broker by its id, to `CONTROLLER` or to `ANY`, and return the response.

        `name` is Java's name of the call, for error texts. `request_ms` is how long a broker may take to
        answer, by default `request.timeout.ms`. The call is repeated while the response has a
        retriable error of its own, one of `again` in any row, or, for the controller, says that another
        broker is it.

        Raises:
            JavaError: there is no response.
        """
        last: Exception | None = None
        for until_s in self._attempts(timeout_ms):
            connection: BrokerConnection | None = None
            try:
                connection = self._connection_to(to, until_s)
                if connection is not None:
                    most_ms = min(_left_ms(until_s), request_ms or self._request_ms)
                    response = connection.ask(request, most_ms)
                    self._contact.made()
                    if not self._is_to_repeat(response, to, again):
                        return response
            except LostConnectionError as error:
                last = error
                if connection is not None:
                    self._contact.lost(connection.node, error)
            if to != ANY:
                self._cluster = None
        raise overdue(name or _call_name(request)) from last

    def ask_each(
        self, requests: Mapping[int, Message | Versioned], *, name: str = ""
    ) -> dict[int, Any | JavaError]:
        """Send requests to several brokers, by their ids, at once; return each response or error."""
        sent: dict[int, Any] = {}
        for broker_id, request in requests.items():
            try:
                connection = self.connection(broker_id)
                sent[broker_id] = connection, connection.send(request)
            except (LostConnectionError, JavaError) as error:
                sent[broker_id] = error
        return {
            broker_id: self._outcome(broker_id, requests[broker_id], way, name)
            for broker_id, way in sent.items()
        }

    def _outcome(self, broker_id: int, request: Message | Versioned, way: Any, name: str) -> Any | JavaError:
        try:
            if isinstance(way, JavaError):
                return way
            if isinstance(way, tuple):
                connection, pending = way
                try:
                    return connection.wait(pending, min(self._request_ms, self.left_ms))
                except LostConnectionError:
                    pass
            return self.ask(request, broker_id, name=name)
        except JavaError as error:
            return error

    def connection(self, broker_id: int) -> BrokerConnection:
        """Return an open connection to a broker.

        Raises:
            LostConnectionError: the broker is unknown or cannot be reached now.
            JavaError: TLS or the login failed.
        """
        connection = self._connection_to(broker_id)
        if connection is None:
            raise LostConnectionError(PeerFault.UNKNOWN, f"broker {broker_id} is not in the cluster")
        return connection

    # Coordinators

    def coordinators(self, kind: int, keys: Iterable[str]) -> dict[str, int | JavaError]:
        """Return the broker id of each key's coordinator. `kind` is 0 for groups, 1 for transactional ids, 2
        for share partitions.
        """
        return {key: self._coordinator(kind, key) for key in keys}

    def ask_coordinator(
        self,
        kind: int,
        key: str,
        request: Message | Versioned,
        *,
        name: str = "",
        request_ms: int | None = None,
    ) -> Any:
        """Send a request to the coordinator of a key and return the response; a coordinator that has moved is
        looked for again. Raises JavaError.
        """
        limit_ms = self.settings.milliseconds("default.api.timeout.ms")
        if request_ms is not None:
            limit_ms = min(limit_ms, request_ms)
        for _ in self._attempts(limit_ms):
            broker_id = self._coordinator(kind, key, limit_ms)
            if isinstance(broker_id, JavaError):
                raise broker_id
            response = self.ask(request, broker_id, name=name, timeout_ms=request_ms, request_ms=request_ms)
            if not MOVED.intersection(_codes(response)):
                return response
            self._coordinators.pop((kind, key), None)
        raise overdue(name)

    def _coordinator(self, kind: int, key: str, timeout_ms: float | None = None) -> int | JavaError:
        known = self._coordinators.get((kind, key))
        if known is not None:
            return known
        from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest

        def make(version: int) -> FindCoordinatorRequest:
            if version >= 4:  # KIP-699: several keys
                return FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
            return FindCoordinatorRequest(key, kind)

        try:
            response = self.ask(
                Versioned(ApiKey.FIND_COORDINATOR, make),
                name="findCoordinator",
                timeout_ms=timeout_ms,
                again=MOVED,
            )
        except JavaError as error:
            return error
        row = response.coordinators[0] if response.coordinators else response
        if row.error_code:
            return error_of_code(row.error_code, row.error_message or None)
        self._coordinators[kind, key] = row.node_id
        if row.node_id not in self.cluster().nodes:
            self.cluster(refresh=True, timeout_ms=timeout_ms)
        return int(row.node_id)

    # Attempts

    def attempts(self, name: str) -> Iterator[None]:
        """Yield once for each attempt of a call, with pauses between them. Raises JavaError when the time of
        the call, `default.api.timeout.ms`, is over.
        """
        for _ in self._attempts(None):
            yield
        raise overdue(name)

    @contextmanager
    def ending_at(self, end_s: float) -> Iterator[None]:
        """Limit all calls of the block to a time of `time.monotonic`, besides the limits that they have."""
        before, self._end_s = self._end_s, end_s
        try:
            yield
        finally:
            self._end_s = before

    @property
    def left_ms(self) -> float:
        """Milliseconds that are left until the end of `ending_at`; infinite without one."""
        return _left_ms(self._end_s)

    @property
    def _request_ms(self) -> int:
        return self.settings.milliseconds("request.timeout.ms")

    def _attempts(self, timeout_ms: float | None) -> Iterator[float]:
        """Yield the end of each attempt as a time of `time.monotonic`, with pauses between attempts."""
        if timeout_ms is None:
            timeout_ms = self.settings.milliseconds("default.api.timeout.ms")
        until_s = min(time.monotonic() + timeout_ms / 1000, self._end_s)
        first_ms, longest_ms = map(self.settings.milliseconds, ("retry.backoff.ms", "retry.backoff.max.ms"))
        failures = 0
        while time.monotonic() < until_s:
            yield until_s
            pause_ms = backoff_ms(failures, first_ms, longest_ms, random)  # type: ignore[arg-type]
            pause(min(pause_ms / 1000, until_s - time.monotonic()))
            failures += 1

    def _connection_to(self, to: int, until_s: float = math.inf) -> BrokerConnection | None:
        """Return an open connection; None if the broker, or which one is the controller, is not known."""
        if to == ANY:
            return self._any_connection(until_s)
        view = self.cluster(timeout_ms=None if until_s == math.inf else _left_ms(until_s))
        broker_id = view.controller_id if to == CONTROLLER else to
        node = view.nodes.get(broker_id)
        if node is None:
            self._contact.unknown(broker_id, view.nodes)
            return None
        return self._opened(node, until_s)

    def _any_connection(self, until_s: float) -> BrokerConnection:
        for connection in self._connections.values():
            if not connection.is_over:
                return connection
        known = list(self._cluster.nodes.values()) if self._cluster is not None else []
        last: LostConnectionError | None = None
        for node in known or self._bootstrap:
            try:
                return self._opened(node, until_s)
            except LostConnectionError as error:
                last = error
        self._cluster = None  # begin with the first addresses again
        assert last is not None
        raise last

    def _opened(self, node: Node, until_s: float) -> BrokerConnection:
        address = node.host, node.port
        connection = self._connections.get(address)
        if connection is None or connection.is_over:
            connection = self._connections[address] = BrokerConnection(node, self.settings, self._security)
        try:
            connection.open(min(until_s, self._end_s))
        except (LostConnectionError, JavaError) as error:
            self._contact.not_made(node, error)
            raise
        return connection

    def _is_to_repeat(self, response: Any, to: int, again: frozenset[ErrorCode]) -> bool:
        own = getattr(response, "error_code", 0)
        if own and error_of(own).retriable:
            return True
        codes = _codes(response)
        if to == CONTROLLER and ErrorCode.NOT_CONTROLLER in codes:
            return True
        return bool(again.intersection(codes))


def _left_ms(until_s: float) -> float:
    return 1000 * (until_s - time.monotonic())


def _codes(response: Any) -> set[int]:
    """Return the error codes of a response and of its rows."""
    found = {getattr(response, "error_code", 0)}
    for name in response.__struct_fields__:
        rows = getattr(response, name)
        if isinstance(rows, list) and rows and hasattr(rows[0], "error_code"):
            found.update(row.error_code for row in rows)
    return found


def _call_name(request: Message | Versioned) -> str:
    key = request.key if isinstance(request, Versioned) else ApiKey(request.api_key)
    first, *others = key.name.split("_")
    return first.lower() + "".join(map(str.capitalize, others))
