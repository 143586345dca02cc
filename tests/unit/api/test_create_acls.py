"""CreateAcls with an authorizer, and without one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kcompat.api import create_acls, describe_acls
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_acls import CreateAclsRequest
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, ask, context_of, services_of
from support.stored_acls import StoredAcls, creating, describing, outcome

CONTEXT = context_of(services_of(), 3)
RULE = CreateAclsRequest.AclCreation(
    resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
)

DISABLED = (54, "Security features are not enabled.")


@pytest.mark.parametrize("version", range(4))
def test_each_rule_is_refused(version: int) -> None:
    response: Any = create_acls.handle(CONTEXT, CreateAclsRequest(creations=[RULE, RULE]))
    assert [(row.error_code, row.error_message) for row in response.results] == [DISABLED, DISABLED]
    assert response.encode(version)


def test_needs_to_alter_the_cluster() -> None:
    context = context_of(services_of(authorizer=Denying((Operation.ALTER, CLUSTER))), 3)
    response: Any = create_acls.handle(context, CreateAclsRequest(creations=[RULE]))
    assert [row.error_code for row in response.results] == [31]


@pytest.mark.parametrize("field", ["resource_type", "resource_pattern_type", "operation", "permission_type"])
def test_an_element_of_type_unknown_is_refused(field: str) -> None:
    with pytest.raises(ProtocolViolation):
        create_acls.handle(CONTEXT, CreateAclsRequest(creations=[RULE, replace(RULE, **{field: 0})]))


@pytest.mark.parametrize("version", range(4))
async def test_acls_are_in_force_when_answered(version: int) -> None:
    async with StoredAcls() as stored:
        response = await outcome(
            ask(create_acls, version, creating({}, {"host": "10.0.0.1"}, {}), stored.services())
        )
        assert [(row.error_code, row.error_message) for row in response.results] == [(0, "")] * 3
        found = describe_acls.handle(context_of(stored.services(), 3), describing())
        (resource,) = found.resources
        assert (resource.resource_type, resource.resource_name, resource.pattern_type) == (2, "t", 3)
        assert [(row.principal, row.host, row.operation, row.permission_type) for row in resource.acls] == [
            ("User:a", "*", 3, 3),
            ("User:a", "10.0.0.1", 3, 3),
        ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resource_type": 4}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"resource_type": 1}, "Invalid resourceType ANY"),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": 1}, "Invalid patternType ANY"),
        ({"resource_pattern_type": 2}, "Invalid patternType MATCH"),
        ({"resource_pattern_type": 99}, "Invalid patternType UNKNOWN"),
        ({"operation": 1}, "Invalid operation ANY"),
        ({"operation": -1}, "Invalid operation UNKNOWN"),
        ({"permission_type": 1}, "Invalid permissionType ANY"),
        ({"permission_type": 99}, "Invalid permissionType UNKNOWN"),
        (
            {"principal": "alice"},
            "Could not parse principal from `alice` "
            "(no colon is present separating the principal type from the principal name)",
        ),
    ],
)
async def test_an_acl_that_is_not_allowed_is_refused_alone(changes: dict[str, object], message: str) -> None:
    async with StoredAcls() as stored:
        response = await outcome(create_acls.handle(context_of(stored.services(), 3), creating({}, changes)))
        assert [(row.error_code, row.error_message) for row in response.results] == [
            (0, ""),
            (ErrorCode.INVALID_REQUEST, message),
        ]
        assert len(stored.authorizer.patterns()) == 1


async def test_names_that_zookeeper_cannot_store() -> None:
    for escapes, error in ((True, ErrorCode.NONE), (False, ErrorCode.INVALID_REQUEST)):
        async with StoredAcls(escapes=escapes) as stored:
            rule = {"resource_type": 3, "resource_name": "team/app"}
            response = await outcome(create_acls.handle(context_of(stored.services(), 3), creating(rule)))
            assert response.results[0].error_code == error


async def test_acls_that_cannot_be_stored() -> None:
    async with StoredAcls() as stored:
        await stored.session.expire()
        asked = creating({}, {"operation": 1})
        response = await outcome(create_acls.handle(context_of(stored.services(), 3), asked))
        codes = [row.error_code for row in response.results]
        assert codes == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.INVALID_REQUEST]


async def test_nothing_is_created_without_permission() -> None:
    async with StoredAcls() as stored:
        services = stored.services(Denying((Operation.ALTER, CLUSTER)))
        response: Any = create_acls.handle(context_of(services, 3), creating({}, {"operation": 1}))
        assert [row.error_code for row in response.results] == [31, 31]
        assert stored.authorizer.patterns() == []
