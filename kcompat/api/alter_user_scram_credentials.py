"""AlterUserScramCredentials (key 51), version 0: SCRAM credentials are set and deleted (KIP-554).

Behaviour
- Each user has one result: the first error of the user's deletions and upsertions.
- No user has credentials, so each deletion gets RESOURCE_NOT_FOUND.
- An upsertion is checked as on a Kafka broker (`ScramControlManager`). If Kafka would store it, it is refused
  with SECURITY_DISABLED: no listener offers SASL, so the credential would be useless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
MIN_ITERATIONS, MAX_ITERATIONS = 4096, 16384

_Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
_Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
_Result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult


def handle(
    context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    """Refuse the changes of each user."""
    changes: list[_Deletion | _Upsertion] = [*request.deletions, *request.upsertions]
    denied = None
    if not context.may(Operation.ALTER, CLUSTER):
        denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED.message
    refusals: dict[str, tuple[ErrorCode, str]] = {}
    for change in changes:
        refusals.setdefault(change.name, denied or _refusal(change))
    return AlterUserScramCredentialsResponse(
        results=[_Result(user, error, message) for user, (error, message) in refusals.items()]
    )


def _refusal(change: _Deletion | _Upsertion) -> tuple[ErrorCode, str]:
    """Return the error of one change, and its reason."""
    if not change.name:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"
    if change.mechanism not in MECHANISMS:
        return ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"
    if isinstance(change, _Deletion):
        return ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
    if change.iterations < MIN_ITERATIONS:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"
    if change.iterations > MAX_ITERATIONS:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"
    return (
        ErrorCode.SECURITY_DISABLED,
        "No listener of this broker offers SASL, so it does not store SCRAM credentials.",
    )
