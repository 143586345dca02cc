"""CreateAcls of a broker without ACLs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kcompat.api import create_acls
from kcompat.protocol.messages.create_acls import CreateAclsRequest
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, context_of, services_of

CONTEXT = context_of(services_of(), 3)
RULE = CreateAclsRequest.AclCreation(
    resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
)

DISABLED = (54, "Security features are not enabled.")


@pytest.mark.parametrize("version", range(4))
def test_each_rule_is_refused(version: int) -> None:
    response = create_acls.handle(CONTEXT, CreateAclsRequest(creations=[RULE, RULE]))
    assert [(row.error_code, row.error_message) for row in response.results] == [DISABLED, DISABLED]
    assert response.encode(version)


def test_needs_to_alter_the_cluster() -> None:
    context = context_of(services_of(authorizer=Denying((Operation.ALTER, CLUSTER))), 3)
    response = create_acls.handle(context, CreateAclsRequest(creations=[RULE]))
    assert [row.error_code for row in response.results] == [31]


@pytest.mark.parametrize("field", ["resource_type", "resource_pattern_type", "operation", "permission_type"])
def test_an_element_of_type_unknown_is_refused(field: str) -> None:
    with pytest.raises(ProtocolViolation):
        create_acls.handle(CONTEXT, CreateAclsRequest(creations=[RULE, replace(RULE, **{field: 0})]))
