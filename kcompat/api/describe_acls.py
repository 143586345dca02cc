"""DescribeAcls (key 29), versions 0-3: list the ACLs that match a filter.

Behaviour
- The ACLs in force on this broker are listed, in order of their patterns.
- A filter with an element of type UNKNOWN closes the connection.
- A broker without an authorizer answers SECURITY_DISABLED. Tools handle this error; MirrorMaker 2, for
  example, then skips ACLs.

Version notes
- 0: literal patterns only. 1: kinds of patterns (KIP-290). 2: flexible. 3: user resources (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.acl_validation import filter_of
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.api.context import RequestContext
    from kcompat.security.acls import Acl, ResourcePattern

ResourceRow = DescribeAclsResponse.DescribeAclsResource
EntryRow = DescribeAclsResponse.AclDescription


def handle(context: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    """List the ACLs by pattern."""
    wanted = filter_of(request)
    store = context.services.server.acls
    if not context.may(Operation.DESCRIBE, CLUSTER):
        return _refuse(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if store is None:
        return _refuse(ErrorCode.SECURITY_DISABLED)
    return DescribeAclsResponse(resources=_by_pattern(store.find(wanted)))


def _refuse(error: ErrorCode) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error, error_message=error.message)


def _by_pattern(acls: Iterable[Acl]) -> list[ResourceRow]:
    rows: dict[ResourcePattern, ResourceRow] = {}
    for acl in acls:
        pattern, entry = acl.pattern, acl.entry
        row = rows.setdefault(pattern, ResourceRow(pattern.type, pattern.name, pattern.kind))
        row.acls.append(EntryRow(entry.principal, entry.host, entry.operation, entry.permission))
    return list(rows.values())
