"""AlterUserScramCredentials of a broker without SASL."""

from __future__ import annotations

import pytest

from kcompat.api import alter_user_scram_credentials
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, ask, services_of

Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion


def upsertion(name: str, mechanism: int = 1, iterations: int = 8192) -> Upsertion:
    """A credential with some salt and password."""
    return Upsertion(name, mechanism, iterations, b"salt", b"password")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (Deletion("alice", 1), ErrorCode.RESOURCE_NOT_FOUND),
        (Deletion("", 1), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (Deletion("alice", 0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion("", mechanism=9), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("alice", mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion("alice", iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("alice", iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("alice", iterations=4096), ErrorCode.SECURITY_DISABLED),
        (upsertion("alice", 2, 16384), ErrorCode.SECURITY_DISABLED),
    ],
)
def test_a_change_is_refused(change: Deletion | Upsertion, error: ErrorCode) -> None:
    request = AlterUserScramCredentialsRequest(
        [change] if isinstance(change, Deletion) else [],
        [change] if isinstance(change, Upsertion) else [],
    )
    (row,) = ask(alter_user_scram_credentials, 0, request, services_of()).results
    assert (row.user, row.error_code) == (change.name, error)
    assert row.error_message


def test_a_user_is_answered_once_with_its_first_error() -> None:
    request = AlterUserScramCredentialsRequest(
        [Deletion("alice", 9), Deletion("bob", 1), Deletion("alice", 1)],
        [upsertion("bob"), upsertion("carol")],
    )
    answer = ask(alter_user_scram_credentials, 0, request, services_of())
    assert [(row.user, row.error_code) for row in answer.results] == [
        ("alice", ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ("bob", ErrorCode.RESOURCE_NOT_FOUND),
        ("carol", ErrorCode.SECURITY_DISABLED),
    ]


def test_a_client_that_may_not_alter_the_cluster_is_refused() -> None:
    services = services_of(authorizer=Denying((Operation.ALTER, CLUSTER)))
    request = AlterUserScramCredentialsRequest([Deletion("", 9), Deletion("bob", 1)], [upsertion("bob")])
    answer = ask(alter_user_scram_credentials, 0, request, services)
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert [(row.user, row.error_code) for row in answer.results] == [("", denied), ("bob", denied)]
