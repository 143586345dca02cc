"""Quotas among the dynamic configs of users, client ids and addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.quota_entities import config_entity, put_in_force
from kcompat.security.quotas.clients import ClientQuotas
from kcompat.security.quotas.rates import QuotaWindow

if TYPE_CHECKING:
    from kcompat.security.quotas.limits import QuotaEntity

BYTES, CONNECTIONS = "producer_byte_rate", "connection_creation_rate"

STORED: list[tuple[QuotaEntity, tuple[str, str], str]] = [
    ((("user", "alice"),), ("users", "alice"), BYTES),
    ((("user", None),), ("users", "<default>"), BYTES),
    ((("user", "a b/c"), ("client-id", "<default>")), ("users", "a%20b%2Fc/clients/%3Cdefault%3E"), BYTES),
    ((("user", None), ("client-id", None)), ("users", "<default>/clients/<default>"), BYTES),
    ((("client-id", "app"),), ("clients", "app"), BYTES),
    ((("ip", "fe80::1"),), ("ips", "fe80%3A%3A1"), CONNECTIONS),
    ((("ip", None),), ("ips", "<default>"), CONNECTIONS),
]


@pytest.mark.parametrize(("entity", "stored_at", "key"), STORED)
def test_a_quota_is_stored_where_kafka_stores_it(
    entity: QuotaEntity, stored_at: tuple[str, str], key: str
) -> None:
    assert config_entity(entity) == stored_at
    quotas = ClientQuotas(QuotaWindow(), QuotaWindow())
    put_in_force(quotas, {stored_at: {key: "5", "SCRAM-SHA-256": "salt=..."}})
    assert quotas.limits == {entity: {key: 5.0}}
    put_in_force(quotas, {stored_at: {"SCRAM-SHA-256": "salt=..."}})
    assert quotas.limits == {}


def test_configs_of_other_entities_are_no_quotas() -> None:
    quotas = ClientQuotas(QuotaWindow(), QuotaWindow())
    put_in_force(quotas, {("topics", "t"): {BYTES: "5"}, ("brokers", "1"): {BYTES: "5"}})
    assert quotas.limits == {}
