"""DeleteAcls of a broker without access rules."""

from __future__ import annotations

import pytest

from kcompat.api import delete_acls
from kcompat.protocol.messages.delete_acls import DeleteAclsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, context_of, services_of

CONTEXT = context_of(services_of(), 3)


DISABLED = (54, "Security features are not enabled.")


@pytest.mark.parametrize("version", range(4))
def test_each_filter_is_refused(version: int) -> None:
    filters = [DeleteAclsRequest.DeleteAclsFilter(resource_type_filter=kind) for kind in (1, 2)]
    response = delete_acls.handle(CONTEXT, DeleteAclsRequest(filters=filters))
    rows = response.filter_results
    assert [(row.error_code, row.error_message, row.matching_acls) for row in rows] == [(*DISABLED, [])] * 2
    assert response.encode(version)


def test_needs_to_alter_the_cluster() -> None:
    context = context_of(services_of(authorizer=Denying((Operation.ALTER, CLUSTER))), 3)
    response = delete_acls.handle(context, DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter()]))
    assert [row.error_code for row in response.filter_results] == [31]
