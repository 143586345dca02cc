"""DescribeUserScramCredentials (key 50), version 0: the SCRAM credentials of users (KIP-554).

Behaviour
- No user has credentials: the list of all users is empty, and a named user gets RESOURCE_NOT_FOUND.
- A user that is named more than once gets DUPLICATE_RESOURCE.
- A client that may not describe the cluster gets a row without a name for each user that it named.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


def handle(
    context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Return an error for each named user, as no user has credentials."""
    if not context.may(Operation.DESCRIBE, CLUSTER):
        denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        nameless = _Result(error_code=denied, error_message=None)
        return DescribeUserScramCredentialsResponse(
            error_code=denied, error_message=None, results=[nameless] * len(request.users or ())
        )
    counted = Counter(user.name for user in request.users or ())
    return DescribeUserScramCredentialsResponse(
        results=[_described(name, is_repeated=count > 1) for name, count in counted.items()]
    )


def _described(user: str, *, is_repeated: bool) -> _Result:
    if is_repeated:
        reason = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return _Result(user, ErrorCode.DUPLICATE_RESOURCE, reason)
    reason = f"Attempt to describe a user credential that does not exist: {user}"
    return _Result(user, ErrorCode.RESOURCE_NOT_FOUND, reason)
