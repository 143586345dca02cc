"""DescribeUserScramCredentials (key 50), version 0: the SCRAM credentials of users (KIP-554).

Behaviour
- A null or empty list of names means all users. A user without credentials gets RESOURCE_NOT_FOUND, one that
  is named more than once DUPLICATE_RESOURCE.
- The response has mechanisms and numbers of iterations; salts and keys are never shown.
- A client that may not describe the cluster gets a row without a name for each user that it named. Kafka in
  KRaft mode does not respond to it.
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
from kcompat.security.credentials import SCRAM_MECHANISMS
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.cluster.scram_users import ScramUsers

_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
_Info = DescribeUserScramCredentialsResponse.CredentialInfo


def handle(
    context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Describe the credentials of each named user, or of all users."""
    if not context.may(Operation.DESCRIBE, CLUSTER):
        denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        nameless = _Result(error_code=denied, error_message=None)
        return DescribeUserScramCredentialsResponse(
            error_code=denied, error_message=None, results=[nameless] * len(request.users or ())
        )
    users = context.services.cluster.scram_users
    named = [user.name for user in request.users] if request.users else users.names()
    return DescribeUserScramCredentialsResponse(
        results=[_described(users, name, is_repeated=count > 1) for name, count in Counter(named).items()]
    )


def _described(users: ScramUsers, user: str, *, is_repeated: bool) -> _Result:
    if is_repeated:
        reason = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return _Result(user, ErrorCode.DUPLICATE_RESOURCE, reason)
    infos = [
        _Info(mechanism.type, found.credential.iterations)
        for mechanism in SCRAM_MECHANISMS
        if (found := users.find(mechanism, user)) is not None
    ]
    if not infos:
        reason = f"Attempt to describe a user credential that does not exist: {user}"
        return _Result(user, ErrorCode.RESOURCE_NOT_FOUND, reason)
    return _Result(user, credential_infos=infos)
