"""Costs of requests for the quotas of their clients, and throttling (KIP-13, 124, 219, 599).

While no client has a quota the dispatcher tests one attribute, and nothing here runs. Otherwise the
dispatcher gets a `LimitedRoute` in place of the route of a client with a quota: the same route for one
request, which counts the request when its response is encoded. A client over a quota is answered at once,
with the time for which it should wait, and its connection hands on no more requests for as long.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from kcompat.api.route import Route
from kcompat.protocol.api_keys import API_FACTS, ApiKey
from kcompat.protocol.compiling import read_request_header

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.api.context import RequestContext
    from kcompat.net.answers import Connection, Settled
    from kcompat.protocol.messages.share_fetch import ShareFetchResponse
    from kcompat.security.quotas.clients import ClientQuota, ClientQuotas

_PERCENT_OF_A_SECOND: Final = 100 / 1e9
"""One nanosecond of work in percent of a second."""


_UNLIMITED: Final = 2**31 - 1


class Charges:
    """Costs of one request for its client's quotas, and the time for which they throttle the client."""

    __slots__ = (
        "_begun_ns",
        "_is_time_charged",
        "_mutation_until_ms",
        "_now_ms",
        "_quota",
        "_spent_ns",
        "is_exempt",
        "throttle_ms",
    )

    def __init__(self, quota: ClientQuota, now_ms: Callable[[], int]) -> None:
        """Begin to measure the time in which the request is worked on."""
        self._quota = quota
        self._now_ms = now_ms
        self._spent_ns = 0
        self._begun_ns = perf_counter_ns()
        self._is_time_charged = False
        self._mutation_until_ms = 0
        self.is_exempt = False
        """Whether the request is of another broker, and costs nothing."""
        self.throttle_ms = 0
        """For how many ms the client is throttled, as far as is known."""

    def pause(self) -> None:
        """Stop measuring the time until the next charge, since the request waits."""
        self._spent_ns += perf_counter_ns() - self._begun_ns
        self._begun_ns = 0

    def charge_time(self) -> None:
        """Count the time that the request has taken, once for a throttle time; further time counts, but
        throttles only later requests.
        """
        rate = self._quota.request
        if rate is None or self.is_exempt:
            return
        now_ns = perf_counter_ns()
        spent_ns = self._spent_ns + (now_ns - self._begun_ns if self._begun_ns else 0)
        self._spent_ns, self._begun_ns = 0, now_ns
        throttle_ms = rate.record(spent_ns * _PERCENT_OF_A_SECOND, self._now_ms())
        if not self._is_time_charged:
            self._throttle(throttle_ms)
        self._is_time_charged = True

    def charge_produced(self, size: int) -> None:
        """Count the bytes of a Produce request."""
        if self._quota.produce is not None:
            self._throttle(self._quota.produce.record(size, self._now_ms()))

    @property
    def most_fetched(self) -> int:
        """Bytes that one Fetch response may have without being throttled for certain."""
        rate = None if self.is_exempt else self._quota.fetch
        return _UNLIMITED if rate is None else rate.most_at_once

    def charge_fetched(self, size: int) -> bool:
        """Count the bytes of a Fetch response and the time that the request took. Return False if the client
        is throttled: then the response must be empty, and its bytes do not count.
        """
        if self.is_exempt:
            return True
        rate = self._quota.fetch
        if rate is not None:
            self._throttle(rate.record(size, self._now_ms()))
        self.charge_time()
        if not self.throttle_ms:
            return True
        if rate is not None:
            rate.take_back(size, self._now_ms())
        return False

    def charge_shared(self, size: int) -> None:
        """Count the bytes of a ShareFetch response, whose records are acquired and are sent in any case."""
        if self._quota.fetch is not None:
            self._throttle(self._quota.fetch.record(size, self._now_ms()))

    def charge_mutation(self, partitions: int, *, strict: bool) -> bool:
        """Count partitions that are to be created or deleted. Return False, and count none, if `strict` and
        the quota is used up.
        """
        bucket = self._quota.mutation
        if bucket is None:
            return True
        now_ms = self._now_ms()
        debt_ms = bucket.throttle_ms(now_ms)
        if not (strict and debt_ms):
            bucket.take(partitions, now_ms)
            if strict:
                return True
            debt_ms = bucket.throttle_ms(now_ms)
        self._mutation_until_ms = now_ms + debt_ms
        return not strict

    def return_mutation(self, partitions: int) -> None:
        """Uncount partitions that were not created or deleted after all."""
        if self._quota.mutation is not None:
            self._quota.mutation.take(-partitions, self._now_ms())

    def settle(self) -> int:
        """Return for how many ms the client is throttled, after all of the request has been counted."""
        if self._mutation_until_ms:
            self._throttle(self._mutation_until_ms - self._now_ms())
        return 0 if self.is_exempt else self.throttle_ms

    def _throttle(self, ms: int) -> None:
        self.throttle_ms = max(self.throttle_ms, ms)


class LimitedRoute(Route):
    """A route for one request of a client that has a quota."""

    __slots__ = ("_charges", "_connection", "_route", "_size")

    def __init__(self, route: Route, charges: Charges, connection: Connection, size: int) -> None:
        """`size` is that of the request in bytes, without its header."""
        self._route = route
        self._charges = charges
        self._connection = connection
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
        """Return the bytes of a final response; None stays None (acks=0), after which only bytes throttle."""
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
        return throttle_ms


def limited(
    route: Route, quotas: ClientQuotas, connection: Connection, frame: memoryview, now_ms: Callable[[], int]
) -> Route:
    """Return the route for a request: a `LimitedRoute` if a quota holds for the client, else `route`.

    Raises:
        ProtocolViolation: the header of the request is damaged.
    """
    _, client_id, body = read_request_header(frame, route.header_version)
    quota = quotas.of(connection.principal.name, client_id, now_ms())
    if quota is None or API_FACTS[route.key].cluster_action:
        return route
    return LimitedRoute(route, Charges(quota, now_ms), connection, len(frame) - body)


def _size_of_records(response: ShareFetchResponse) -> int:
    return sum(len(row.records or b"") for topic in response.responses for row in topic.partitions)
