"""DescribeAcls of a broker without ACLs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kcompat.api import describe_acls
from kcompat.protocol.messages.describe_acls import DescribeAclsRequest
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, context_of, services_of

CONTEXT = context_of(services_of(), 3)
REQUEST = DescribeAclsRequest(resource_type_filter=2, operation=1, permission_type=1)

DISABLED = (54, "Security features are not enabled.")


@pytest.mark.parametrize("version", range(4))
def test_there_is_no_security_to_describe(version: int) -> None:
    response = describe_acls.handle(CONTEXT, REQUEST)
    assert (response.error_code, response.error_message) == DISABLED
    assert response.resources == []
    assert response.encode(version)


def test_needs_to_describe_the_cluster() -> None:
    context = context_of(services_of(authorizer=Denying((Operation.DESCRIBE, CLUSTER))), 3)
    assert describe_acls.handle(context, REQUEST).error_code == 31


@pytest.mark.parametrize(
    "field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"]
)
def test_an_element_of_type_unknown_is_refused(field: str) -> None:
    with pytest.raises(ProtocolViolation):
        describe_acls.handle(CONTEXT, replace(REQUEST, **{field: 0}))
