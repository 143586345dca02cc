"""Limits on the rates of new connections: of the broker, of each listener and of each address (KIP-612).

A listener that is over its own rate, or a broker over its rate, accepts no more for a while; peers wait in
the backlog. A connection of an address that is over its rate is closed at once, so that it delays no other
address. The inter-broker listener does not count towards the rate of the broker. Pure. Kafka's counterpart:
`ConnectionQuotas`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kcompat.net.limits import UNLIMITED
from kcompat.security.quotas.rates import LimitedRate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.net.limits import Limits

NO_ADDRESS_LIMITS: Final[Mapping[str | None, float]] = MappingProxyType({})
MOST_ADDRESSES: Final = 10_000
"""Addresses whose rates are remembered. When there are more, idle ones are forgotten, or else all."""


class ConnectionRates:
    """The rates of connections that one broker accepts. Times are in ms, of a clock that is never set."""

    def __init__(self, address_limits: Mapping[str | None, float]) -> None:
        """`address_limits` has connections per second by numeric address, and for None those of every other
        address. It may change.
        """
        self._address_limits = address_limits
        self._by_listener: dict[str | None, LimitedRate] = {}
        self._by_address: dict[str, LimitedRate] = {}

    def accept(self, listener: str, limits: Limits, now_ms: int, *, protected: bool) -> int:
        """Count a connection that a listener accepts; return for how many ms it should accept no more.

        `protected` marks the inter-broker listener.
        """
        pause_ms = self._count(listener, limits.at(listener).max_rate, limits, now_ms)
        if not protected:
            pause_ms = max(pause_ms, self._count(None, limits.max_rate, limits, now_ms))
        return pause_ms

    def admits(self, host: str, limits: Limits, now_ms: int) -> bool:
        """Return whether an address may have one more connection now, and count it if so."""
        if not self._address_limits:
            return True
        limit = self._address_limits.get(host, self._address_limits.get(None, UNLIMITED))
        if not 0 < limit < UNLIMITED:
            return limit > 0
        rate = self._by_address.get(host)
        if rate is None:
            self._make_room(now_ms)
            rate = self._by_address[host] = LimitedRate(limit, limits.rate_window)
        rate.limit = limit
        if not rate.record(1, now_ms):
            return True
        rate.take_back(1, now_ms)
        return False

    def _count(self, listener: str | None, limit: float, limits: Limits, now_ms: int) -> int:
        if limit >= UNLIMITED:
            self._by_listener.pop(listener, None)
            return 0
        rate = self._by_listener.get(listener)
        if rate is None:
            window = limits.rate_window
            rate = self._by_listener[listener] = LimitedRate(limit, window, window.sample_ms)
        rate.limit = limit
        return rate.record(1, now_ms)

    def _make_room(self, now_ms: int) -> None:
        if len(self._by_address) >= MOST_ADDRESSES:
            busy = {host: rate for host, rate in self._by_address.items() if not rate.is_idle(now_ms)}
            self._by_address = busy if len(busy) < MOST_ADDRESSES // 2 else {}
