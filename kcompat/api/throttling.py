"""Costs of requests for the quotas of their clients, and throttling (KIP-13, 124, 219, 599).

While no client has a quota the dispatcher tests one attribute, and nothing here runs. Otherwise the
dispatcher gets a `LimitedRoute` in place of the route of a client with a quota: the same route for one
request, which counts the request when its response is encoded. A client over a quota is answered at once,
with the time for which it should wait, and its connection hands on no more requests for as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcompat.api.charges import Charges
from kcompat.api.failures import note_throttling
from kcompat.api.route import Route
from kcompat.protocol.api_keys import API_FACTS, ApiKey
from kcompat.protocol.compiling import read_request_header

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.api.context import RequestContext
    from kcompat.net.answers import Connection, Settled
    from kcompat.protocol.messages.share_fetch import ShareFetchResponse
    from kcompat.security.quotas.clients import ClientQuotas


HARD_MS: Final = 1000
"""Time in ms from which on throttling is logged: clients notice it, and some time out."""


class LimitedRoute(Route):
    """A route for one request of a client that has a quota."""

    __slots__ = ("_charges", "_client_id", "_connection", "_route", "_size")

    def __init__(
        self, route: Route, charges: Charges, connection: Connection, client_id: str | None, size: int
    ) -> None:
        """`size` is that of the request in bytes, without its header."""
        self._route = route
        self._charges = charges
        self._connection = connection
        self._client_id = client_id
        self._size = size
        self.key = route.key
        self.version = route.version
        self.mode = route.mode
        self.decode = route.decode
        self.max_values = route.max_values
        self.header_version = route.header_version
        self.response_header_version = route.response_header_version
        self.response_type = route.response_type
        self.handle = self._handle
        self.frame = self._frame
        self.shortcut = route.shortcut and self

    def serve(self, connection: Connection, frame: memoryview) -> Any:
        """Serve a request by the shortcut of the route, as a `kcompat.api.registry.Shortcut`."""
        shortcut = self._route.shortcut
        assert shortcut is not None
        response = shortcut.serve(connection, frame)
        if response is not None and type(response) is not self.response_type:
            self._charges.pause()
        return response

    def settled(self, correlation_id: int, response: Any) -> Settled:
        """Return the encoded bytes of a final response; None for a Produce with acks=0, which has no
        response. Only the bytes of such a request count against a quota.
        """
        if response is None:
            self._charges.charge_produced(self._size)
            self._mute()
            return None
        return super().settled(correlation_id, response)

    def _handle(self, context: RequestContext, request: Any) -> Any:
        context.charges = self._charges
        response = self._route.handle(context, request)
        if type(response) is not self.response_type:
            self._charges.pause()
        return response

    def _frame(self, response: Any, correlation_id: int, header_version: int) -> list[Any]:
        charges = self._charges
        if self.key is ApiKey.PRODUCE:
            charges.charge_produced(self._size)
        elif self.key is ApiKey.SHARE_FETCH:
            charges.charge_shared(_size_of_records(response))
        charges.charge_time()
        throttle_ms = self._mute()
        has_throttle_time = throttle_ms and hasattr(response, "throttle_time_ms")
        if has_throttle_time:
            response.throttle_time_ms = throttle_ms
        answer = self._route.frame(response, correlation_id, header_version)
        if has_throttle_time:
            response.throttle_time_ms = 0  # the shortcut of Produce fills in its responses anew
        charges.charge_time()
        return answer

    def _mute(self) -> int:
        """Mute the connection for as long as the client is throttled; return that time in ms."""
        throttle_ms = self._charges.settle()
        if throttle_ms:
            self._connection.mute(throttle_ms)
            if throttle_ms >= HARD_MS:
                note_throttling(self._connection, self._client_id, self.key, throttle_ms)
        return throttle_ms


def limited(
    route: Route,
    quotas: ClientQuotas,
    connection: Connection,
    frame: memoryview,
    now_ms: Callable[[], int],
    work_ns: Callable[[], int],
) -> Route:
    """Return the route for a request: a `LimitedRoute` if a quota holds for the client, else `route`.

    `now_ms` returns the time since the epoch, `work_ns` a time by which the work on a request is measured.

    Raises:
        ProtocolViolation: the header of the request is damaged.
    """
    _, client_id, body = read_request_header(frame, route.header_version)
    quota = quotas.of(connection.principal.name, client_id, now_ms())
    if quota is None or API_FACTS[route.key].cluster_action:
        return route
    return LimitedRoute(route, Charges(quota, now_ms, work_ns), connection, client_id, len(frame) - body)


def _size_of_records(response: ShareFetchResponse) -> int:
    return sum(len(row.records or b"") for topic in response.responses for row in topic.partitions)
