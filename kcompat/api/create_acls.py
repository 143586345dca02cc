"""CreateAcls (key 30), versions 0-3: create ACLs.

Behaviour
- No authorizer stores ACLs, so each ACL gets SECURITY_DISABLED, as on a Kafka broker with an empty
  `authorizer.class.name`. Tools handle this error; MirrorMaker 2, for example, then skips ACLs.
- An ACL with an element of type UNKNOWN closes the connection.

Version notes
- 1: kinds of patterns (KIP-290). 2: flexible. 3: user resources (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.acl_validation import refuse_unknown_elements
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext


def handle(context: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    """Refuse each ACL, as no authorizer stores ACLs."""
    for acl in request.creations:
        refuse_unknown_elements(
            acl.resource_type, acl.resource_pattern_type, acl.operation, acl.permission_type
        )
    error = ErrorCode.SECURITY_DISABLED
    if not context.may(Operation.ALTER, CLUSTER):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    refusal = CreateAclsResponse.AclCreationResult(error_code=error, error_message=error.message)
    return CreateAclsResponse(results=[refusal] * len(request.creations))
