"""DescribeClientQuotas: the entities that a filter matches, and filters that make no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.api import describe_client_quotas
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from kcompat.security.quotas.clients import ClientQuotas
from kcompat.security.quotas.rates import QuotaWindow
from support.asking import Denying, ask, services_of

if TYPE_CHECKING:
    from kcompat.api.context import Services
    from kcompat.security.quotas.limits import QuotaEntity

Component = DescribeClientQuotasRequest.ComponentData
EXACT, DEFAULT, SPECIFIED = 0, 1, 2
USER, CLIENT, IP = (Component(kind, SPECIFIED, None) for kind in ("user", "client-id", "ip"))
ONE_USER = Component("user", EXACT, "alice")


ENTITIES: list[QuotaEntity] = [
    (("user", "alice"),),
    (("user", None),),
    (("user", "alice"), ("client-id", "app")),
    (("user", "alice"), ("client-id", None)),
    (("client-id", "app"),),
    (("ip", "10.0.0.1"),),
]
ALICE, ANY_USER, ALICE_APP, ALICE_ANY, APP, HOST = ENTITIES


def services() -> Services:
    """A broker with one quota for each entity."""
    quotas = ClientQuotas(QuotaWindow(), QuotaWindow())
    for number, entity in enumerate(ENTITIES):
        quotas.set(entity, {"some_rate": float(number)})
    return services_of(quotas=quotas)


def test_the_quotas_of_an_entity_are_sorted_by_name() -> None:
    quotas = ClientQuotas(QuotaWindow(), QuotaWindow())
    quotas.set(ALICE, {"request_percentage": 1.0, "producer_byte_rate": 2.0, "consumer_byte_rate": 3.0})
    request = DescribeClientQuotasRequest([USER])
    (entry,) = ask(describe_client_quotas, 1, request, services_of(quotas=quotas)).entries
    assert [value.key for value in entry.values] == [
        "consumer_byte_rate",
        "producer_byte_rate",
        "request_percentage",
    ]


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize(
    ("components", "strict", "matched"),
    [
        ([], False, ENTITIES),
        ([], True, []),
        ([USER], False, [ALICE, ANY_USER, ALICE_APP, ALICE_ANY]),
        ([USER], True, [ALICE, ANY_USER]),
        ([CLIENT], False, [ALICE_APP, ALICE_ANY, APP]),
        ([CLIENT, USER], True, [ALICE_APP, ALICE_ANY]),
        ([ONE_USER], False, [ALICE, ALICE_APP, ALICE_ANY]),
        ([ONE_USER], True, [ALICE]),
        ([Component("user", DEFAULT, None)], False, [ANY_USER]),
        ([ONE_USER, Component("client-id", DEFAULT, None)], True, [ALICE_ANY]),
        ([Component("user", EXACT, "bob")], False, []),
        ([IP], False, [HOST]),
    ],
)
def test_a_filter_matches_entities_by_type_and_name(
    version: int, components: list[Component], strict: bool, matched: list[QuotaEntity]
) -> None:
    request = DescribeClientQuotasRequest(components, strict)
    answer = ask(describe_client_quotas, version, request, services())
    assert (answer.error_code, answer.error_message) == (0, "")
    assert [
        (
            tuple((part.entity_type, part.entity_name) for part in entry.entity),
            [(value.key, value.value) for value in entry.values],
        )
        for entry in answer.entries
    ] == [(entity, [("some_rate", float(ENTITIES.index(entity)))]) for entity in matched]


@pytest.mark.parametrize(
    ("components", "error", "reason"),
    [
        ([Component("", EXACT, "alice")], 42, "Invalid empty entity type."),
        ([Component("group", EXACT, "g")], 35, "Unsupported entity type group"),
        ([ONE_USER, USER], 42, "Entity type user cannot appear more than once in the filter."),
        (
            [Component("user", EXACT, None)],
            42,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            [Component("user", DEFAULT, "alice")],
            42,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (
            [Component("user", SPECIFIED, "alice")],
            42,
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
        ),
        ([Component("user", 3, None)], 42, "Unknown match type 3"),
        (
            [CLIENT, IP],
            42,
            "Invalid entity filter component combination. "
            "IP filter component should not be used with user or clientId filter component.",
        ),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    components: list[Component], error: int, reason: str
) -> None:
    answer = ask(describe_client_quotas, 1, DescribeClientQuotasRequest(components), services_of())
    assert (answer.error_code, answer.error_message, answer.entries) == (error, reason, None)


def test_a_client_that_may_not_describe_configs_of_the_cluster_is_refused() -> None:
    services = services_of(authorizer=Denying((Operation.DESCRIBE_CONFIGS, CLUSTER)))
    answer = ask(describe_client_quotas, 1, DescribeClientQuotasRequest([USER, USER]), services)
    assert (answer.error_code, answer.entries) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
