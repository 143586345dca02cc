"""AlterUserScramCredentials (key 51), version 0: SCRAM credentials are set and deleted (KIP-554).

Behaviour
- Each user has one result: the first error of the user's deletions and upsertions. As with Kafka in KRaft
  mode, a request may change one credential of a user (`ScramControlManager`).
- Any broker stores the changes; the credentials are in force on it when it responds.
- A client sends the salted password, of which the broker stores the keys. An empty one is refused.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kcompat.api.stored_configs import store_change
from kcompat.cluster.config_entities import USERS, sanitized_entity
from kcompat.config.dynamic import ConfigChange
from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.credentials import MAX_ITERATIONS, MIN_ITERATIONS, SCRAM_MECHANISMS
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcompat.api.context import ClusterServices, RequestContext
    from kcompat.cluster.config_entities import Entity

_Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
_Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
_Result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult

_MECHANISMS: Final = {mechanism.type: mechanism for mechanism in SCRAM_MECHANISMS}
_TWICE: Final = ConfigChange(
    ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
)


def handle(
    context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse | Promise[AlterUserScramCredentialsResponse]:
    """Check and store the changes of each user; promise the response once they are stored."""
    changes: list[_Deletion | _Upsertion] = [*request.deletions, *request.upsertions]
    users = list(dict.fromkeys(change.name for change in changes))
    if not context.may(Operation.ALTER, CLUSTER):
        denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return _response(users, [ConfigChange(denied, denied.message)] * len(users))
    cluster = context.services.cluster

    def alter(_: None) -> Promise[list[ConfigChange]]:
        return gather([_stored(cluster, decision) for decision in _decide(cluster, changes).values()])

    refreshed = cluster.configs.refresh([_entity(user) for user in users if user])
    return refreshed.flat_map(alter).map(partial(_response, users))


def _response(users: Sequence[str], outcomes: Sequence[ConfigChange]) -> AlterUserScramCredentialsResponse:
    return AlterUserScramCredentialsResponse(
        results=[
            _Result(user, outcome.error, outcome.message)
            for user, outcome in zip(users, outcomes, strict=True)
        ]
    )


def _decide(
    cluster: ClusterServices, changes: Iterable[_Deletion | _Upsertion]
) -> dict[str, _Deletion | _Upsertion | ConfigChange]:
    """Return the one change of each user, in the order of `changes`, or its refusal."""
    decisions: dict[str, _Deletion | _Upsertion | ConfigChange] = {}
    for change in changes:
        former = decisions.get(change.name)
        if former is None:
            decisions[change.name] = _refusal(cluster, change) or change
        elif not isinstance(former, ConfigChange):
            decisions[change.name] = _TWICE
    return decisions


def _stored(
    cluster: ClusterServices, decision: _Deletion | _Upsertion | ConfigChange
) -> Promise[ConfigChange]:
    if isinstance(decision, ConfigChange):
        return Promise.resolved(decision)
    judge = partial(_judge, cluster, decision)
    return store_change(cluster, _entity(decision.name), judge(), judge)


def _judge(cluster: ClusterServices, change: _Deletion | _Upsertion) -> ConfigChange:
    """Return all configs of the user after the change, or a refusal."""
    refusal = _refusal(cluster, change)
    if refusal is not None:
        return refusal
    configs = dict(cluster.metadata.image.configs(*_entity(change.name)))
    mechanism = _MECHANISMS[change.mechanism]
    if isinstance(change, _Deletion):
        del configs[mechanism.name]
    else:
        from kcompat.security.scram_keys import credential_of  # loads OpenSSL

        credential = credential_of(mechanism, change.salt, change.salted_password, change.iterations)
        configs[mechanism.name] = credential.format()
    return ConfigChange(configs=configs)


def _refusal(cluster: ClusterServices, change: _Deletion | _Upsertion) -> ConfigChange | None:
    """Return the error of one change with its reason; None if it is allowed."""
    if not change.name:
        return ConfigChange(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    mechanism = _MECHANISMS.get(change.mechanism)
    if mechanism is None:
        return ConfigChange(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, _Deletion):
        if mechanism.name in cluster.metadata.image.configs(*_entity(change.name)):
            return None
        reason = "Attempt to delete a user credential that does not exist"
        return ConfigChange(ErrorCode.RESOURCE_NOT_FOUND, reason)
    if change.iterations < MIN_ITERATIONS:
        return ConfigChange(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if change.iterations > MAX_ITERATIONS:
        return ConfigChange(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not change.salted_password:
        return ConfigChange(ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salted password must not be empty")
    return None


def _entity(user: str) -> Entity:
    return sanitized_entity((USERS, user))
