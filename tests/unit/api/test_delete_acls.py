"""DeleteAcls with an authorizer, and without one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kcompat.api import create_acls, delete_acls
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_acls import DeleteAclsRequest
from kcompat.protocol.schema import ProtocolViolation
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, ask, context_of, services_of
from support.stored_acls import StoredAcls, creating, deleting, outcome

CONTEXT = context_of(services_of(), 3)
FILTER = DeleteAclsRequest.DeleteAclsFilter(resource_type_filter=2, operation=1, permission_type=1)

DISABLED = (54, "Security features are not enabled.")


@pytest.mark.parametrize("version", range(4))
def test_each_filter_is_refused(version: int) -> None:
    response: Any = delete_acls.handle(CONTEXT, DeleteAclsRequest(filters=[FILTER, FILTER]))
    rows = response.filter_results
    assert [(row.error_code, row.error_message, row.matching_acls) for row in rows] == [(*DISABLED, [])] * 2
    assert response.encode(version)


def test_needs_to_alter_the_cluster() -> None:
    context = context_of(services_of(authorizer=Denying((Operation.ALTER, CLUSTER))), 3)
    response: Any = delete_acls.handle(context, DeleteAclsRequest(filters=[FILTER]))
    assert [row.error_code for row in response.filter_results] == [31]


@pytest.mark.parametrize(
    "field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"]
)
def test_an_element_of_type_unknown_is_refused(field: str) -> None:
    with pytest.raises(ProtocolViolation):
        delete_acls.handle(CONTEXT, DeleteAclsRequest(filters=[FILTER, replace(FILTER, **{field: 0})]))


@pytest.mark.parametrize("version", range(4))
async def test_the_deleted_acls_are_told_for_each_filter(version: int) -> None:
    async with StoredAcls() as stored:
        services = stored.services()
        rules = creating({}, {"host": "10.0.0.1"}, {"resource_name": "u"})
        await outcome(create_acls.handle(context_of(services, 3), rules))
        kinds = {"pattern_type_filter": 1 if version else 3}
        asked = deleting(
            {"resource_name_filter": "t", **kinds},
            {"host_filter": "10.0.0.1", **kinds},
            {"operation": 4, **kinds},
        )
        response = await outcome(ask(delete_acls, version, asked, services))
        assert [row.error_code for row in response.filter_results] == [0, 0, 0]
        assert [
            [(acl.error_code, acl.resource_name, acl.host) for acl in row.matching_acls]
            for row in response.filter_results
        ] == [[(0, "t", "*"), (0, "t", "10.0.0.1")], [(0, "t", "10.0.0.1")], []]
        assert [pattern.name for pattern in stored.authorizer.patterns()] == ["u"]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("resource_type_filter", "Unknown patternFilter."),
        ("pattern_type_filter", "Unknown patternFilter."),
        ("operation", "Unknown entryFilter."),
        ("permission_type", "Unknown entryFilter."),
    ],
)
async def test_a_filter_with_a_code_that_kafka_does_not_define_is_refused_alone(
    field: str, message: str
) -> None:
    async with StoredAcls() as stored:
        context = context_of(stored.services(), 3)
        await outcome(create_acls.handle(context, creating({})))
        response = await outcome(delete_acls.handle(context, deleting({field: 99}, {})))
        refused, done = response.filter_results
        assert (refused.error_code, refused.error_message) == (ErrorCode.INVALID_REQUEST, message)
        assert (done.error_code, len(done.matching_acls)) == (0, 1)


async def test_acls_that_cannot_be_deleted() -> None:
    async with StoredAcls() as stored:
        context = context_of(stored.services(), 3)
        await outcome(create_acls.handle(context, creating({})))
        await stored.session.expire()
        response = await outcome(delete_acls.handle(context, deleting({})))
        assert response.filter_results[0].error_code == ErrorCode.REQUEST_TIMED_OUT
        assert len(stored.authorizer.patterns()) == 1


async def test_nothing_is_deleted_without_permission() -> None:
    async with StoredAcls() as stored:
        services = stored.services(Denying((Operation.ALTER, CLUSTER)))
        await outcome(create_acls.handle(context_of(stored.services(), 3), creating({})))
        response: Any = delete_acls.handle(context_of(services, 3), deleting({}))
        assert [row.error_code for row in response.filter_results] == [31]
        assert len(stored.authorizer.patterns()) == 1
