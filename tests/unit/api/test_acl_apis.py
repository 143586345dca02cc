"""DescribeAcls, CreateAcls, DeleteAcls of a broker without an authorizer."""

from __future__ import annotations

import pytest

from kcompat.api import create_acls, delete_acls, describe_acls
from kcompat.api.registry import SERVED
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.create_acls import CreateAclsRequest
from kcompat.protocol.messages.delete_acls import DeleteAclsRequest
from kcompat.protocol.messages.describe_acls import DescribeAclsRequest
from support.asking import context_of, services_of

CONTEXT = context_of(services_of(), 3)
DISABLED = (54, "Security features are not enabled.")


@pytest.mark.parametrize("version", range(4))
def test_there_is_no_security_to_describe(version: int) -> None:
    response = describe_acls.handle(CONTEXT, DescribeAclsRequest())
    assert (response.error_code, response.error_message) == DISABLED
    assert response.resources == []
    assert response.encode(version)


@pytest.mark.parametrize("version", range(4))
def test_each_rule_is_refused(version: int) -> None:
    rules = [CreateAclsRequest.AclCreation(resource_type=2, resource_name=name) for name in "ab"]
    response = create_acls.handle(CONTEXT, CreateAclsRequest(creations=rules))
    assert [(row.error_code, row.error_message) for row in response.results] == [DISABLED, DISABLED]
    assert response.encode(version)


@pytest.mark.parametrize("version", range(4))
def test_each_filter_is_refused(version: int) -> None:
    filters = [DeleteAclsRequest.DeleteAclsFilter(resource_type_filter=kind) for kind in (1, 2)]
    response = delete_acls.handle(CONTEXT, DeleteAclsRequest(filters=filters))
    rows = response.filter_results
    assert [(row.error_code, row.error_message, row.matching_acls) for row in rows] == [(*DISABLED, [])] * 2
    assert response.encode(version)


def test_they_are_served() -> None:
    """MirrorMaker 2 logs an error every few minutes where the question itself is unknown."""
    assert {ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS} <= {served.key for served in SERVED}
