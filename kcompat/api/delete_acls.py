"""DeleteAcls (key 31), versions 0-3: delete the ACLs that match filters.

Behaviour
- The response lists the deleted ACLs for each filter; an ACL that several filters match is listed for each.
  The ACLs are no longer in force on this broker then; on other brokers within a second.
- A filter with an element of type UNKNOWN closes the connection.
- A broker without an authorizer answers SECURITY_DISABLED for each filter. Tools handle this error;
  MirrorMaker 2, for example, then skips ACLs.

Version notes
- 0: literal patterns only. 1: kinds of patterns (KIP-290). 2: flexible. 3: user resources (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.acl_validation import filter_of, refusal_of_filter
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise
    from kcompat.security.acls import Acl

Result = DeleteAclsResponse.DeleteAclsFilterResult
MatchingAcl = DeleteAclsResponse.DeleteAclsMatchingAcl


def handle(
    context: RequestContext, request: DeleteAclsRequest
) -> DeleteAclsResponse | Promise[DeleteAclsResponse]:
    """Delete the ACLs that a valid filter matches, and answer once they are not in force."""
    filters = [filter_of(asked) for asked in request.filters]
    store = context.services.server.acls
    if not context.may(Operation.ALTER, CLUSTER):
        return _refuse_all(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if store is None:
        return _refuse_all(request, ErrorCode.SECURITY_DISABLED)
    refusals = [refusal_of_filter(wanted) for wanted in filters]
    valid = [wanted for wanted, refusal in zip(filters, refusals, strict=True) if refusal is None]

    def deleted(outcome: ErrorCode | list[list[Acl]]) -> DeleteAclsResponse:
        if isinstance(outcome, ErrorCode):
            done = [Result(outcome, outcome.message)] * len(valid)
        else:
            done = [
                Result(error_message=None, matching_acls=[_row_of(acl) for acl in acls]) for acls in outcome
            ]
        each = iter(done)
        return DeleteAclsResponse(
            filter_results=[next(each) if refusal is None else Result(*refusal) for refusal in refusals]
        )

    return store.delete(valid).map(deleted)


def _refuse_all(request: DeleteAclsRequest, error: ErrorCode) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[Result(error, error.message)] * len(request.filters))


def _row_of(acl: Acl) -> MatchingAcl:
    pattern, entry = acl.pattern, acl.entry
    return MatchingAcl(
        error_message=None,
        resource_type=pattern.type,
        resource_name=pattern.name,
        pattern_type=pattern.kind,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission,
    )
