"""AlterUserScramCredentials: each user's change is checked and stored."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import alter_user_scram_credentials
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.credentials import SCRAM_SHA_256, ScramCredential
from kcompat.security.operations import Operation
from kcompat.security.scram_keys import credential_of_password, salted_password
from support.asking import Denying, ask, services_of
from support.config_handlers import ConfigFixture

Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion

ALICE = ("users", "alice")
STORED = credential_of_password(SCRAM_SHA_256, "secret", 4096, b"salt").format()
QUOTA = {"producer_byte_rate": "1"}


def upsertion(
    name: str, mechanism: int = 1, iterations: int = 4096, password: bytes | None = None
) -> Upsertion:
    """A credential of the password "secret", or with the salted one that is given."""
    salted = (
        salted_password(SCRAM_SHA_256, "secret", b"salt", iterations % 20000)
        if password is None
        else password
    )
    return Upsertion(name, mechanism, iterations, b"salt", salted)


def altered(fixture: ConfigFixture, *changes: Deletion | Upsertion) -> Any:
    """The response to these deletions and upsertions, or its promise."""
    request = AlterUserScramCredentialsRequest(
        [each for each in changes if isinstance(each, Deletion)],
        [each for each in changes if isinstance(each, Upsertion)],
    )
    return ask(alter_user_scram_credentials, 0, request, fixture.services)


def errors(answer: Any) -> list[tuple[str, int]]:
    """Users and error codes of a response."""
    return [(row.user, row.error_code) for row in answer.results]


def test_a_credential_is_set_and_deleted_beside_other_configs_of_the_user() -> None:
    fixture = ConfigFixture()
    fixture.store(*ALICE, QUOTA)
    (row,) = altered(fixture, upsertion("alice")).results
    assert (row.user, row.error_code, row.error_message) == ("alice", 0, None)
    assert fixture.stored[ALICE] == {**QUOTA, "SCRAM-SHA-256": STORED}
    assert fixture.configs.refreshed == [ALICE]
    assert errors(altered(fixture, upsertion("alice", 2, 16384))) == [("alice", 0)]
    assert ScramCredential.parse(fixture.stored[ALICE]["SCRAM-SHA-512"]).iterations == 16384
    assert errors(altered(fixture, Deletion("alice", 1))) == [("alice", 0)]
    assert fixture.stored[ALICE].keys() == {"producer_byte_rate", "SCRAM-SHA-512"}


def test_a_name_is_sanitized_in_its_path() -> None:
    fixture = ConfigFixture()
    assert errors(altered(fixture, upsertion("a/b"))) == [("a/b", 0)]
    assert fixture.stored[("users", "a%2Fb")] == {"SCRAM-SHA-256": STORED}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (Deletion("alice", 2), ErrorCode.RESOURCE_NOT_FOUND),
        (Deletion("bob", 1), ErrorCode.RESOURCE_NOT_FOUND),
        (Deletion("", 1), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (Deletion("alice", 0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion("", mechanism=9), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("alice", mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion("alice", iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("alice", iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("alice", password=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
    ],
)
def test_a_change_is_refused(change: Deletion | Upsertion, error: ErrorCode) -> None:
    fixture = ConfigFixture()
    fixture.store(*ALICE, {"SCRAM-SHA-256": STORED})
    (row,) = altered(fixture, change).results
    assert (row.user, row.error_code) == (change.name, error)
    assert row.error_message
    assert fixture.stored == {ALICE: {"SCRAM-SHA-256": STORED}}


def test_a_user_is_answered_once_with_its_first_error() -> None:
    fixture = ConfigFixture()
    for name in ("dora", "eve"):
        fixture.store("users", name, {"SCRAM-SHA-256": STORED})
    answer = altered(
        fixture,
        Deletion("alice", 9),
        Deletion("bob", 1),
        Deletion("alice", 1),
        Deletion("dora", 1),
        Deletion("eve", 1),
        Deletion("eve", 1),
        upsertion("bob"),
        upsertion("carol"),
        upsertion("dora"),
        upsertion("fred"),
        upsertion("fred", 2),
    )
    assert errors(answer) == [
        ("alice", ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ("bob", ErrorCode.RESOURCE_NOT_FOUND),
        ("dora", ErrorCode.DUPLICATE_RESOURCE),
        ("eve", ErrorCode.DUPLICATE_RESOURCE),
        ("carol", ErrorCode.NONE),
        ("fred", ErrorCode.DUPLICATE_RESOURCE),
    ]
    assert fixture.stored.keys() == {("users", name) for name in ("carol", "dora", "eve")}


def test_a_change_is_decided_again_where_another_client_came_first() -> None:
    fixture = ConfigFixture()
    fixture.store(*ALICE, {"SCRAM-SHA-256": STORED})
    fixture.configs.held = []
    set_512, deleted = altered(fixture, upsertion("alice", 2)), altered(fixture, Deletion("alice", 1))
    held, fixture.configs.held = fixture.configs.held, None
    fixture.store(*ALICE, QUOTA)
    for promise in held:
        promise.complete(ErrorCode.INVALID_UPDATE_VERSION)
    assert errors(set_512.value) == [("alice", ErrorCode.NONE)]
    assert errors(deleted.value) == [("alice", ErrorCode.RESOURCE_NOT_FOUND)]
    assert fixture.stored[ALICE].keys() == {"producer_byte_rate", "SCRAM-SHA-512"}


def test_a_store_that_fails_is_named() -> None:
    fixture = ConfigFixture()
    fixture.configs.error = ErrorCode.REQUEST_TIMED_OUT
    assert errors(altered(fixture, upsertion("alice"))) == [("alice", ErrorCode.REQUEST_TIMED_OUT)]


def test_a_client_that_may_not_alter_the_cluster_is_refused() -> None:
    services = services_of(authorizer=Denying((Operation.ALTER, CLUSTER)))
    request = AlterUserScramCredentialsRequest([Deletion("", 9), Deletion("bob", 1)], [upsertion("bob")])
    answer = ask(alter_user_scram_credentials, 0, request, services)
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert errors(answer) == [("", denied), ("bob", denied)]
