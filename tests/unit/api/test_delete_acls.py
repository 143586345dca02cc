"""DeleteAcls of a broker without ACLs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kcompat.api import delete_acls
from kcompat.protocol.messages.delete_acls import DeleteAclsRequest
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, context_of, services_of

CONTEXT = context_of(services_of(), 3)
FILTER = DeleteAclsRequest.DeleteAclsFilter(resource_type_filter=2, operation=1, permission_type=1)

DISABLED = (54, "Security features are not enabled.")


@pytest.mark.parametrize("version", range(4))
def test_each_filter_is_refused(version: int) -> None:
    response = delete_acls.handle(CONTEXT, DeleteAclsRequest(filters=[FILTER, FILTER]))
    rows = response.filter_results
    assert [(row.error_code, row.error_message, row.matching_acls) for row in rows] == [(*DISABLED, [])] * 2
    assert response.encode(version)


def test_needs_to_alter_the_cluster() -> None:
    context = context_of(services_of(authorizer=Denying((Operation.ALTER, CLUSTER))), 3)
    response = delete_acls.handle(context, DeleteAclsRequest(filters=[FILTER]))
    assert [row.error_code for row in response.filter_results] == [31]


@pytest.mark.parametrize(
    "field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"]
)
def test_an_element_of_type_unknown_is_refused(field: str) -> None:
    with pytest.raises(ProtocolViolation):
        delete_acls.handle(CONTEXT, DeleteAclsRequest(filters=[FILTER, replace(FILTER, **{field: 0})]))
