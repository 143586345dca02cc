"""Rates of new connections: when a listener pauses, and which addresses are refused."""

from __future__ import annotations

import pytest

from kcompat.net import connection_rates
from kcompat.net.connection_rates import ConnectionRates
from kcompat.net.limits import UNLIMITED, Limits, ListenerLimits
from kcompat.security.quotas.rates import QuotaWindow

WINDOW = QuotaWindow(2, 1000)
"""A window of two samples, of which the connections of one second may come at once."""
CLIENTS, BROKERS = "CLIENTS", "BROKERS"


def accept(rates: ConnectionRates, limits: Limits, count: int, listener: str = CLIENTS) -> int:
    """Accept connections at time 0; return the pause after the last."""
    pauses = [rates.accept(listener, limits, 0, protected=listener == BROKERS) for _ in range(count)]
    return pauses[-1]


def test_without_limits_nothing_is_counted() -> None:
    rates = ConnectionRates({})
    assert accept(rates, Limits(), 10_000) == 0
    assert all(rates.admits("10.0.0.1", Limits(), 0) for _ in range(10_000))
    assert rates._by_listener == rates._by_address == {}


def test_a_broker_over_its_rate_pauses_until_it_is_within() -> None:
    rates, limits = ConnectionRates({}), Limits(max_rate=10, rate_window=WINDOW)
    assert accept(rates, limits, 10) == 0
    assert accept(rates, limits, 1) == 100
    assert accept(rates, limits, 100) == 1000, "a pause is one sample at most"


def test_listeners_have_rates_of_their_own_beside_that_of_the_broker() -> None:
    limits = Limits(max_rate=10, by_listener={CLIENTS: ListenerLimits(max_rate=5)}, rate_window=WINDOW)
    rates = ConnectionRates({})
    assert accept(rates, limits, 5) == 0
    assert accept(rates, limits, 1) == 200
    assert accept(rates, limits, 4, "MORE") == 0
    assert accept(rates, limits, 1, "MORE") == 100, "those of both listeners are too many"


def test_the_inter_broker_listener_has_only_its_own_rate() -> None:
    limits = Limits(max_rate=1, by_listener={BROKERS: ListenerLimits(max_rate=5)}, rate_window=WINDOW)
    rates = ConnectionRates({})
    assert accept(rates, limits, 5, BROKERS) == 0
    assert accept(rates, limits, 1) == 0, "the brokers do not count"
    assert accept(rates, limits, 1, BROKERS) == 200


def test_a_limit_that_changes_holds_for_what_was_counted() -> None:
    rates = ConnectionRates({})
    accept(rates, Limits(max_rate=100, rate_window=WINDOW), 20)
    assert accept(rates, Limits(max_rate=10, rate_window=WINDOW), 1) == 1000
    assert accept(rates, Limits(max_rate=UNLIMITED), 1) == 0


def test_an_address_over_its_rate_is_refused_and_others_are_not() -> None:
    rates, limits = ConnectionRates({"10.0.0.1": 5, None: 2}), Limits(rate_window=WINDOW)
    admitted = [rates.admits("10.0.0.1", limits, 0) for _ in range(60)]
    assert admitted == [True] * 5 + [False] * 55
    assert [rates.admits("10.0.0.2", limits, 0) for _ in range(4)] == [True, True, False, False]
    assert rates.admits("10.0.0.1", limits, 1300), "those that were refused do not count"


@pytest.mark.parametrize(("limit", "is_admitted"), [(0, False), (UNLIMITED, True)])
def test_no_rate_and_any_rate(limit: float, is_admitted: bool) -> None:
    rates = ConnectionRates({"10.0.0.1": limit})
    assert rates.admits("10.0.0.1", Limits(), 0) is is_admitted
    assert rates.admits("10.0.0.2", Limits(), 0)


def test_memory_is_bounded_however_many_addresses_there_are() -> None:
    rates, limits = ConnectionRates({None: 1}), Limits()
    for number in range(2 * connection_rates.MOST_ADDRESSES):
        assert rates.admits(f"host {number}", limits, 0)
    assert len(rates._by_address) <= connection_rates.MOST_ADDRESSES


def test_a_broker_that_may_accept_none_pauses_after_each() -> None:
    assert accept(ConnectionRates({}), Limits(max_rate=0), 1) == 1000
