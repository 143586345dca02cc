"""CreateAcls (key 30), versions 0-3: create ACLs.

Behaviour
- Each ACL is validated by itself; the valid ones are stored. The response follows once they are in force on
  this broker; other brokers put them in force within a second.
- An ACL that exists already is no error.
- An ACL with an element of type UNKNOWN closes the connection.
- A broker without an authorizer answers SECURITY_DISABLED for each ACL. Tools handle this error; MirrorMaker
  2, for example, then skips ACLs.

Version notes
- 1: kinds of patterns (KIP-290). 2: flexible. 3: user resources (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.api.acl_validation import member, refuse_unknown_elements
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kcompat.security.acls import STORED_KINDS, Acl, AclEntry, PatternType, PermissionType, ResourcePattern
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation, ResourceType

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

Result = CreateAclsResponse.AclCreationResult

UNSPECIFIC: Final = (0, 1)
"""Codes of UNKNOWN and ANY, for resource types, operations and permissions alike."""


def handle(
    context: RequestContext, request: CreateAclsRequest
) -> CreateAclsResponse | Promise[CreateAclsResponse]:
    """Store the valid ACLs, and answer once they are in force."""
    for asked in request.creations:
        refuse_unknown_elements(
            asked.resource_type, asked.resource_pattern_type, asked.operation, asked.permission_type
        )
    store = context.services.server.acls
    if not context.may(Operation.ALTER, CLUSTER):
        return _refuse_all(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if store is None:
        return _refuse_all(request, ErrorCode.SECURITY_DISABLED)
    acls = [_acl_of(asked) for asked in request.creations]
    results = [_validate(acl, escapes=store.escapes) for acl in acls]
    valid = [acl for acl, result in zip(acls, results, strict=True) if not result.error_code]

    def stored(error: ErrorCode) -> CreateAclsResponse:
        failed = Result(error, error.message)
        return CreateAclsResponse(
            results=[failed if error and not each.error_code else each for each in results]
        )

    return store.create(valid).map(stored)


def _refuse_all(request: CreateAclsRequest, error: ErrorCode) -> CreateAclsResponse:
    return CreateAclsResponse(results=[Result(error, error.message)] * len(request.creations))


def _acl_of(asked: CreateAclsRequest.AclCreation) -> Acl:
    return Acl(
        ResourcePattern(
            member(ResourceType, asked.resource_type),
            asked.resource_name,
            member(PatternType, asked.resource_pattern_type),
        ),
        AclEntry(
            member(Operation, asked.operation),
            asked.principal,
            asked.host,
            member(PermissionType, asked.permission_type),
        ),
    )


def _validate(acl: Acl, *, escapes: bool) -> Result:
    """Return the result of an ACL before it is stored: an error with Kafka's text (`AclControlManager`), or
    no error.
    """
    pattern, entry = acl.pattern, acl.entry
    problems = (
        (
            pattern.type is ResourceType.CLUSTER and pattern.name != CLUSTER.name,
            f"The only valid name for the CLUSTER resource is {CLUSTER.name}",
        ),
        (not pattern.name, "Invalid empty resource name"),
        (pattern.type in UNSPECIFIC, f"Invalid resourceType {pattern.type.name}"),
        (pattern.kind not in STORED_KINDS, f"Invalid patternType {pattern.kind.name}"),
        (entry.operation in UNSPECIFIC, f"Invalid operation {entry.operation.name}"),
        (entry.permission in UNSPECIFIC, f"Invalid permissionType {entry.permission.name}"),
        (
            ":" not in entry.principal,
            f"Could not parse principal from `{entry.principal}` "
            "(no colon is present separating the principal type from the principal name)",
        ),
        ("/" in pattern.name and not escapes, "Failed to create ACL"),
    )
    for is_wrong, message in problems:
        if is_wrong:
            return Result(ErrorCode.INVALID_REQUEST, message)
    return Result()
