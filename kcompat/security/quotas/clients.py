"""The quotas of all clients of one broker: what each client has used, and the limits on it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from msgspec import Struct

from kcompat.security.addresses import numeric_address
from kcompat.security.quotas.limits import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    limit_of,
)
from kcompat.security.quotas.rates import LONGEST_THROTTLE_MS, LimitedRate, QuotaWindow, TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.security.quotas.limits import Holder, QuotaEntity

MOST_CLIENTS: Final = 10_000
"""Maximum number of clients whose quota use is remembered. Clients choose their client ids, so there may be
more: then the oldest entries are dropped, and those clients begin with no use.
"""
LONGEST_CLIENT_ID: Final = 249
"""Number of characters of a client id (of up to 32,767) that are compared. Clients whose ids are equal up to
that length count together.
"""


class _Usage(Protocol):
    """A client's use of one quota: a `LimitedRate` or a `TokenBucket`."""

    limit: float

    def is_idle(self, now_ms: int) -> bool:
        """Return whether a new object would give the same throttle times."""


U = TypeVar("U", bound=_Usage)


class ClientQuota(Struct, frozen=True):
    """The use that one client has made of each quota; None for a quota without a limit."""

    produce: LimitedRate | None
    """Bytes of Produce requests per second."""
    fetch: LimitedRate | None
    """Bytes of Fetch responses per second."""
    request: LimitedRate | None
    """Time in which requests are handled, as percent of the time that passes."""
    mutation: TokenBucket | None
    """Partitions created and deleted per second."""


class ClientQuotas:
    """The quotas of the clients of one broker, by the name of the principal and the client id."""

    def __init__(self, window: QuotaWindow, mutation_window: QuotaWindow) -> None:
        """Begin without limits. `mutation_window` is that of `controller_mutation_rate`."""
        self.are_set = False
        """Whether any user or client id has a limit."""
        self.limits: dict[QuotaEntity, Mapping[str, float]] = {}
        """The limits in force of each entity that has any, by their keys; those of addresses too."""
        self.connection_rates: dict[str | None, float] = {}
        """Connections per second of each numeric address that has a limit, and for None of all others."""
        self._window = window
        self._mutation_window = mutation_window
        self._clients: dict[tuple[str, str | None], ClientQuota | None] = {}
        self._rates: dict[tuple[str, Holder], LimitedRate] = {}
        self._buckets: dict[tuple[str, Holder], TokenBucket] = {}

    def set(self, entity: QuotaEntity, limits: Mapping[str, float]) -> None:
        """Put the limits of an entity in force. The use that clients have made so far counts against the new
        limits.
        """
        if limits:
            self.limits[entity] = limits
            self.are_set = self.are_set or entity[0][0] != IP
        else:
            self.limits.pop(entity, None)
            self.are_set = any(kind != IP for ((kind, _), *_) in self.limits)
        if entity[0][0] == IP:
            self._set_connection_rate(entity[0][1], limits.get(CONNECTION_CREATION_RATE))
        self._clients.clear()

    def _set_connection_rate(self, name: str | None, rate: float | None) -> None:
        address = name if name is None else numeric_address(name)
        if rate is None:
            self.connection_rates.pop(address, None)
        else:
            self.connection_rates[address] = rate

    def of(self, user: str, client_id: str | None, now_ms: int) -> ClientQuota | None:
        """Return the quota of a client, or None if nothing limits it."""
        client = user, client_id
        if client in self._clients:
            return self._clients[client]
        self._make_room(self._rates, now_ms)
        self._make_room(self._buckets, now_ms)
        if len(self._clients) >= MOST_CLIENTS:
            self._clients.clear()
        quota = self._find(user, client_id or "")
        if client_id is None or len(client_id) <= LONGEST_CLIENT_ID:
            self._clients[client] = quota
        return quota

    def _find(self, user: str, client_id: str) -> ClientQuota | None:
        quota = ClientQuota(
            self._use(self._rates, PRODUCER_BYTE_RATE, user, client_id, self._byte_rate),
            self._use(self._rates, CONSUMER_BYTE_RATE, user, client_id, self._byte_rate),
            self._use(self._rates, REQUEST_PERCENTAGE, user, client_id, self._request_time),
            self._use(self._buckets, CONTROLLER_MUTATION_RATE, user, client_id, self._mutations),
        )
        return None if quota == _UNLIMITED else quota

    def _use(
        self,
        remembered: dict[tuple[str, Holder], U],
        key: str,
        user: str,
        client_id: str,
        make: Callable[[float], U],
    ) -> U | None:
        """Return a client's use of the quota with this key, with the current limit set; None without a
        limit.
        """
        found = limit_of(self.limits, key, user, client_id)
        if found is None:
            return None
        limit, (of_user, of_client) = found
        holder = of_user, of_client and of_client[:LONGEST_CLIENT_ID]
        use = remembered.get((key, holder))
        if use is None:
            use = remembered[key, holder] = make(limit)
        use.limit = limit
        return use

    def _byte_rate(self, limit: float) -> LimitedRate:
        return LimitedRate(limit, self._window, LONGEST_THROTTLE_MS)

    def _request_time(self, limit: float) -> LimitedRate:
        return LimitedRate(limit, self._window, self._window.sample_ms)

    def _mutations(self, limit: float) -> TokenBucket:
        return TokenBucket(limit, self._mutation_window)

    def _make_room(self, remembered: dict[tuple[str, Holder], U], now_ms: int) -> None:
        """Drop entries until there is room for more; each call that drops any makes room for many."""
        if len(remembered) < MOST_CLIENTS:
            return
        self._clients.clear()
        for place in [place for place, use in remembered.items() if use.is_idle(now_ms)]:
            del remembered[place]
        for place in list(remembered)[: max(0, len(remembered) - MOST_CLIENTS // 2)]:
            del remembered[place]


_UNLIMITED: Final = ClientQuota(None, None, None, None)
