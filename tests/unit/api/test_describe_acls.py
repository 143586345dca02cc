"""DescribeAcls with an authorizer, and without one."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kcompat.api import create_acls, describe_acls
from kcompat.protocol.messages.describe_acls import DescribeAclsRequest
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, ask, context_of, services_of
from support.stored_acls import StoredAcls, creating, describing, outcome

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


@pytest.mark.parametrize("version", range(4))
async def test_acls_are_listed_by_pattern(version: int) -> None:
    async with StoredAcls() as stored:
        services = stored.services()
        rules = creating(
            {"resource_name": "u"}, {"operation": 4}, {}, {"resource_pattern_type": 4}, {"resource_type": 3}
        )
        await outcome(create_acls.handle(context_of(services, 3), rules))
        response = ask(describe_acls, version, describing(pattern_type_filter=1 if version else 3), services)
        assert (response.error_code, response.error_message) == (0, "")
        prefixed = [] if version == 0 else [(2, "t", 4, [3])]
        assert [
            (row.resource_type, row.resource_name, row.pattern_type, [acl.operation for acl in row.acls])
            for row in response.resources
        ] == [(2, "t", 3, [3, 4]), *prefixed, (2, "u", 3, [3]), (3, "t", 3, [3])]


@pytest.mark.parametrize(
    "field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"]
)
async def test_a_code_that_kafka_does_not_define_matches_nothing(field: str) -> None:
    async with StoredAcls() as stored:
        context = context_of(stored.services(), 3)
        await outcome(create_acls.handle(context, creating({})))
        response = describe_acls.handle(context, describing(**{field: 99}))
        assert (response.error_code, response.resources) == (0, [])


async def test_acls_are_not_shown_without_permission() -> None:
    async with StoredAcls() as stored:
        services = stored.services(Denying((Operation.DESCRIBE, CLUSTER)))
        await outcome(create_acls.handle(context_of(services, 3), creating({})))
        response = describe_acls.handle(context_of(services, 3), describing())
        assert (response.error_code, response.resources) == (31, [])
