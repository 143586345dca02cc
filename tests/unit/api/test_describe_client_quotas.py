"""DescribeClientQuotas of a broker without quotas."""

from __future__ import annotations

import pytest

from kcompat.api import describe_client_quotas
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, ask, services_of

Component = DescribeClientQuotasRequest.ComponentData
EXACT, DEFAULT, SPECIFIED = 0, 1, 2
USER, CLIENT, IP = (Component(kind, SPECIFIED, None) for kind in ("user", "client-id", "ip"))
ONE_USER = Component("user", EXACT, "alice")


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "components", [[], [USER], [USER, CLIENT], [IP], [ONE_USER], [Component("user", DEFAULT, None)]]
)
def test_no_filter_matches_a_quota(version: int, strict: bool, components: list[Component]) -> None:
    request = DescribeClientQuotasRequest(components, strict)
    answer = ask(describe_client_quotas, version, request, services_of())
    assert (answer.error_code, answer.entries) == (0, [])


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
