"""Quotas of clients: lookups that are remembered until limits change, and usage that outlives them."""

from __future__ import annotations

from kcompat.security.quotas import clients
from kcompat.security.quotas.clients import ClientQuotas
from kcompat.security.quotas.limits import CLIENT_ID, USER
from kcompat.security.quotas.rates import QuotaWindow

T0 = 1_700_000_000_000
ALICE, ANY_CLIENT = ((USER, "alice"),), ((CLIENT_ID, None),)
BYTES, PERCENT, MUTATIONS = "producer_byte_rate", "request_percentage", "controller_mutation_rate"


def quotas(**limits: float) -> ClientQuotas:
    """Quotas of alice."""
    made = ClientQuotas(QuotaWindow(), QuotaWindow())
    made.set(ALICE, limits)
    return made


def test_without_limits_nobody_is_limited() -> None:
    none = ClientQuotas(QuotaWindow(), QuotaWindow())
    assert not none.are_set
    assert none.of("alice", "app", T0) is None


def test_a_client_without_a_limit_of_its_own_has_no_quota() -> None:
    some = quotas(producer_byte_rate=1.0)
    assert some.are_set
    assert some.of("bob", "app", T0) is None
    found = some.of("alice", "app", T0)
    assert found is not None
    assert (found.fetch, found.request, found.mutation) == (None, None, None)


def test_clients_of_one_user_share_the_quota_of_the_user() -> None:
    some = quotas(producer_byte_rate=1000.0)
    one, other = some.of("alice", "one", T0), some.of("alice", "other", T0)
    assert one is not None
    assert other is not None
    assert one.produce is other.produce


def test_a_client_id_shares_its_quota_whatever_the_user() -> None:
    some = ClientQuotas(QuotaWindow(), QuotaWindow())
    some.set(ANY_CLIENT, {BYTES: 1000.0})
    found = [some.of(user, client, T0) for user, client in (("alice", "app"), ("bob", "app"), ("bob", "x"))]
    rates = [quota.produce for quota in found if quota is not None]
    assert rates[0] is rates[1]
    assert rates[0] is not rates[2]


def test_a_client_without_an_id_has_the_quota_of_the_default_client() -> None:
    some = ClientQuotas(QuotaWindow(), QuotaWindow())
    some.set(ANY_CLIENT, {BYTES: 1000.0})
    nameless, empty = some.of("alice", None, T0), some.of("alice", "", T0)
    assert nameless is not None
    assert empty is not None
    assert nameless.produce is empty.produce is not None


def test_usage_counts_against_limits_that_change() -> None:
    some = quotas(producer_byte_rate=10_000.0)
    before = some.of("alice", "app", T0)
    assert before is not None
    assert before.produce is not None
    assert before.produce.record(50_000, T0) == 0
    some.set(ALICE, {BYTES: 1000.0})
    after = some.of("alice", "app", T0)
    assert after is not None
    assert after.produce is not None
    assert after.produce.record(0, T0) == 40_000
    some.set(ALICE, {})
    assert some.of("alice", "app", T0) is None
    assert not some.are_set


def test_the_throttle_of_request_time_is_one_sample_at_most() -> None:
    found = quotas(request_percentage=1.0).of("alice", "app", T0)
    assert found is not None
    assert found.request is not None
    assert found.request.record(1e6, T0) == 1000


def test_mutations_have_a_window_of_their_own() -> None:
    some = ClientQuotas(QuotaWindow(), QuotaWindow(2, 1000))
    some.set(ALICE, {MUTATIONS: 5.0})
    found = some.of("alice", "app", T0)
    assert found is not None
    assert found.mutation is not None
    found.mutation.take(15, T0)
    assert found.mutation.throttle_ms(T0) == 1000


def test_memory_is_bounded_however_many_ids_clients_choose() -> None:
    some = ClientQuotas(QuotaWindow(), QuotaWindow())
    some.set(ANY_CLIENT, {BYTES: 1000.0, PERCENT: 1.0, MUTATIONS: 1.0})
    most = clients.MOST_CLIENTS
    for index in range(2 * most):
        quota = some.of("alice", str(index), T0)
        assert quota is not None
        assert quota.produce is not None
        assert quota.mutation is not None
        quota.produce.record(20_000, T0)
        quota.mutation.take(20, T0)
    assert len(some._clients) <= most
    assert len(some._rates) <= most + 3
    assert len(some._buckets) <= most + 1
    # The last one is remembered.
    last = some.of("alice", str(2 * most - 1), T0)
    assert last is not None
    assert last.produce is not None
    assert last.produce.record(0, T0) == 10_000


def test_idle_clients_are_forgotten_first() -> None:
    some = ClientQuotas(QuotaWindow(), QuotaWindow())
    some.set(ANY_CLIENT, {BYTES: 1000.0})
    busy = some.of("alice", "busy", T0)
    assert busy is not None
    assert busy.produce is not None
    busy.produce.record(20_000, T0)
    for index in range(clients.MOST_CLIENTS):
        some.of("alice", str(index), T0)
    assert len(some._rates) < 10
    again = some.of("alice", "busy", T0)
    assert again is not None
    assert again.produce is busy.produce


def test_addresses_have_connection_rates_under_their_usual_names() -> None:
    some = ClientQuotas(QuotaWindow(), QuotaWindow())
    rate = {"connection_creation_rate": 5.0}
    for name in ("10.0.0.1", "0:0:0:0:0:0:0:1", None):
        some.set((("ip", name),), rate)
    assert some.connection_rates == {"10.0.0.1": 5.0, "::1": 5.0, None: 5.0}
    assert not some.are_set, "they limit no requests"
    some.set((("ip", "0:0:0:0:0:0:0:1"),), {})
    assert some.connection_rates == {"10.0.0.1": 5.0, None: 5.0}


def test_long_client_ids_take_no_more_memory_than_others() -> None:
    some = ClientQuotas(QuotaWindow(), QuotaWindow())
    long = "x" * 32_000
    some.set(ANY_CLIENT, {BYTES: 1000.0})
    some.set(((CLIENT_ID, long),), {BYTES: 5.0})
    own, other = some.of("alice", long, T0), some.of("alice", long + "y", T0)
    assert own is not None
    assert own.produce is not None
    assert other is not None
    assert own.produce is other.produce, "they count together"
    kept = {id_ for _, (_, id_) in some._rates} | {id_ for _, id_ in some._clients}
    assert max(len(id_ or "") for id_ in kept) <= clients.LONGEST_CLIENT_ID
