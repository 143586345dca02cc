"""AlterClientQuotas of a broker that does not enforce quotas."""

from __future__ import annotations

import pytest

from kcompat.api import alter_client_quotas
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, ask, services_of

Entity, Change = AlterClientQuotasRequest.EntityData, AlterClientQuotasRequest.OpData
ENTRIES = [
    AlterClientQuotasRequest.EntryData([Entity("user", None), Entity("client-id", "app")], []),
    AlterClientQuotasRequest.EntryData([Entity("ip", "10.0.0.1")], [Change("connection_creation_rate", 1.0)]),
]


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize("validate_only", [False, True])
def test_each_entry_is_refused_with_the_reason(version: int, validate_only: bool) -> None:
    request = AlterClientQuotasRequest(ENTRIES, validate_only)
    answer = ask(alter_client_quotas, version, request, services_of())
    assert [
        (row.error_code, [(each.entity_type, each.entity_name) for each in row.entity])
        for row in answer.entries
    ] == [
        (ErrorCode.INVALID_REQUEST, [("user", None), ("client-id", "app")]),
        (ErrorCode.INVALID_REQUEST, [("ip", "10.0.0.1")]),
    ]
    assert {row.error_message for row in answer.entries} == {
        "This broker does not enforce client quotas, so it does not store any."
    }


def test_a_client_that_may_not_alter_configs_of_the_cluster_is_refused() -> None:
    services = services_of(authorizer=Denying((Operation.ALTER_CONFIGS, CLUSTER)))
    answer = ask(alter_client_quotas, 1, AlterClientQuotasRequest(ENTRIES), services)
    assert [row.error_code for row in answer.entries] == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * 2
