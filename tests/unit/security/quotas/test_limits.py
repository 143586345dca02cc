"""Precedence of quotas: the entities that match a client, the most specific first."""

from __future__ import annotations

import pytest

from kcompat.security.quotas.limits import CLIENT_ID, USER, Holder, QuotaEntity, limit_of

KEY = "producer_byte_rate"
BOTH, OF_USER, OF_CLIENT = ("alice", "app"), ("alice", None), (None, "app")

PRECEDENCE: list[tuple[QuotaEntity, Holder]] = [
    (((USER, "alice"), (CLIENT_ID, "app")), BOTH),
    (((USER, "alice"), (CLIENT_ID, None)), BOTH),
    (((USER, "alice"),), OF_USER),
    (((USER, None), (CLIENT_ID, "app")), BOTH),
    (((USER, None), (CLIENT_ID, None)), BOTH),
    (((USER, None),), OF_USER),
    (((CLIENT_ID, "app"),), OF_CLIENT),
    (((CLIENT_ID, None),), OF_CLIENT),
]
"""Kafka's order, in the documentation of its `ClientQuotaManager`, and whose requests each limit counts."""


@pytest.mark.parametrize("first", range(len(PRECEDENCE)))
def test_the_most_specific_entity_with_the_key_decides(first: int) -> None:
    limits = {entity: {KEY: float(index)} for index, (entity, _) in enumerate(PRECEDENCE)}
    for entity, _ in PRECEDENCE[:first]:
        limits[entity] = {"consumer_byte_rate": 1.0}  # of no account to other keys
    assert limit_of(limits, KEY, "alice", "app") == (float(first), PRECEDENCE[first][1])


def test_quotas_of_others_do_not_limit_a_client() -> None:
    limits: dict[QuotaEntity, dict[str, float]] = {
        ((USER, "bob"),): {KEY: 1.0},
        ((CLIENT_ID, "other"),): {KEY: 1.0},
        ((USER, "alice"), (CLIENT_ID, "other")): {KEY: 1.0},
        (("ip", "10.0.0.1"),): {KEY: 1.0},
    }
    assert limit_of(limits, KEY, "alice", "app") is None


def test_a_user_named_as_the_default_is_not_the_default() -> None:
    assert limit_of({((USER, "<default>"),): {KEY: 1.0}}, KEY, "alice", "app") is None
