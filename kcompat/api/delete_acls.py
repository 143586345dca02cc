"""DeleteAcls (key 31), versions 0-3: delete the ACLs that match filters.

Behaviour
- No authorizer stores ACLs, so each filter gets SECURITY_DISABLED, as on a Kafka broker with an empty
  `authorizer.class.name`. Tools handle this error; MirrorMaker 2, for example, then skips ACLs.
- A filter with an element of type UNKNOWN closes the connection.

Version notes
- 1: kinds of patterns (KIP-290). 2: flexible. 3: user resources (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.acl_validation import refuse_unknown_elements
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext


def handle(context: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    """Refuse each filter, as no authorizer stores ACLs."""
    for each in request.filters:
        refuse_unknown_elements(
            each.resource_type_filter, each.pattern_type_filter, each.operation, each.permission_type
        )
    error = ErrorCode.SECURITY_DISABLED
    if not context.may(Operation.ALTER, CLUSTER):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    refusal = DeleteAclsResponse.DeleteAclsFilterResult(error_code=error, error_message=error.message)
    return DeleteAclsResponse(filter_results=[refusal] * len(request.filters))
