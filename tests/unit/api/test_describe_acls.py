"""DescribeAcls of a broker without access rules."""

from __future__ import annotations

import pytest

from kcompat.api import describe_acls
from kcompat.protocol.messages.describe_acls import DescribeAclsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, context_of, services_of

CONTEXT = context_of(services_of(), 3)


DISABLED = (54, "Security features are not enabled.")


@pytest.mark.parametrize("version", range(4))
def test_there_is_no_security_to_describe(version: int) -> None:
    response = describe_acls.handle(CONTEXT, DescribeAclsRequest())
    assert (response.error_code, response.error_message) == DISABLED
    assert response.resources == []
    assert response.encode(version)


def test_needs_to_describe_the_cluster() -> None:
    context = context_of(services_of(authorizer=Denying((Operation.DESCRIBE, CLUSTER))), 3)
    assert describe_acls.handle(context, DescribeAclsRequest()).error_code == 31
