"""CreateAcls of a broker without access rules."""

from __future__ import annotations

import pytest

from kcompat.api import create_acls
from kcompat.protocol.messages.create_acls import CreateAclsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, context_of, services_of

CONTEXT = context_of(services_of(), 3)


DISABLED = (54, "Security features are not enabled.")


@pytest.mark.parametrize("version", range(4))
def test_each_rule_is_refused(version: int) -> None:
    rules = [CreateAclsRequest.AclCreation(resource_type=2, resource_name=name) for name in "ab"]
    response = create_acls.handle(CONTEXT, CreateAclsRequest(creations=rules))
    assert [(row.error_code, row.error_message) for row in response.results] == [DISABLED, DISABLED]
    assert response.encode(version)


def test_needs_to_alter_the_cluster() -> None:
    context = context_of(services_of(authorizer=Denying((Operation.ALTER, CLUSTER))), 3)
    response = create_acls.handle(context, CreateAclsRequest(creations=[CreateAclsRequest.AclCreation()]))
    assert [row.error_code for row in response.results] == [31]
