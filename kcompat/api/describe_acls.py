"""DescribeAcls (key 29), versions 0-3: list the ACLs that match a filter.

Behaviour
- No authorizer stores ACLs, so every request gets SECURITY_DISABLED, as on a Kafka broker with an empty
  `authorizer.class.name`. Tools handle this error; MirrorMaker 2, for example, then skips ACLs.
- A filter with an element of type UNKNOWN closes the connection.

Version notes
- 1: kinds of patterns (KIP-290). 2: flexible. 3: user resources (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.acl_validation import refuse_unknown_elements
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext


def handle(context: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    """Refuse the request, as no authorizer stores ACLs."""
    refuse_unknown_elements(
        request.resource_type_filter, request.pattern_type_filter, request.operation, request.permission_type
    )
    error = ErrorCode.SECURITY_DISABLED
    if not context.may(Operation.DESCRIBE, CLUSTER):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return DescribeAclsResponse(error_code=error, error_message=error.message)
