"""AlterClientQuotas: quotas that are set, removed and refused, beside the other configs of their entities."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import alter_client_quotas
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, ask
from support.config_handlers import ConfigFixture

Part, Change = AlterClientQuotasRequest.EntityData, AlterClientQuotasRequest.OpData
BYTES, PERCENT = "producer_byte_rate", "request_percentage"
ALICE = (("user", "alice"),)


def entry(entity: tuple[tuple[str, str | None], ...], **changes: float | None) -> Any:
    """One entry of a request; None removes a quota."""
    return AlterClientQuotasRequest.EntryData(
        [Part(*part) for part in entity],
        [Change(key, value or 0.0, remove=value is None) for key, value in changes.items()],
    )


def alter(fixture: ConfigFixture, *entries: Any, version: int = 1, validate_only: bool = False) -> list[Any]:
    """Send a request; return error and message of each entity."""
    request = AlterClientQuotasRequest(list(entries), validate_only)
    response = ask(alter_client_quotas, version, request, fixture.services)
    return [
        (
            tuple((part.entity_type, part.entity_name) for part in row.entity),
            row.error_code,
            row.error_message,
        )
        for row in response.entries
    ]


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize(
    ("entity", "stored_at"),
    [
        (ALICE, ("users", "alice")),
        ((("user", None),), ("users", "<default>")),
        ((("user", "a/b"), ("client-id", None)), ("users", "a%2Fb/clients/<default>")),
        ((("client-id", "app"),), ("clients", "app")),
    ],
)
def test_quotas_are_stored_and_in_force(
    version: int, entity: tuple[tuple[str, str | None], ...], stored_at: tuple[str, str]
) -> None:
    fixture = ConfigFixture()
    changes = entry(entity, producer_byte_rate=1024.0, request_percentage=12.5)
    assert alter(fixture, changes, version=version) == [(entity, 0, None)]
    assert fixture.stored[stored_at] == {BYTES: "1024", PERCENT: "12.5"}
    assert fixture.quotas.limits == {entity: {BYTES: 1024.0, PERCENT: 12.5}}


def test_an_address_has_a_connection_rate() -> None:
    fixture = ConfigFixture()
    entity = (("ip", "10.0.0.1"),)
    assert alter(fixture, entry(entity, connection_creation_rate=5.0)) == [(entity, 0, None)]
    assert fixture.stored["ips", "10.0.0.1"] == {"connection_creation_rate": "5"}


def test_credentials_and_other_quotas_of_a_user_stay() -> None:
    fixture = ConfigFixture()
    fixture.store("users", "alice", {"SCRAM-SHA-256": "salt=...", PERCENT: "5.0"})
    alter(fixture, entry(ALICE, producer_byte_rate=1.0, request_percentage=None))
    assert fixture.stored["users", "alice"] == {"SCRAM-SHA-256": "salt=...", BYTES: "1"}
    alter(fixture, entry(ALICE, producer_byte_rate=None))
    assert fixture.stored["users", "alice"] == {"SCRAM-SHA-256": "salt=..."}
    assert fixture.quotas.limits == {}


def test_a_credential_is_no_quota_that_can_be_removed() -> None:
    fixture = ConfigFixture()
    fixture.store("users", "alice", {"SCRAM-SHA-256": "secret", BYTES: "5"})
    removed = entry(ALICE, **{"SCRAM-SHA-256": None, BYTES: None})
    assert alter(fixture, removed) == [(ALICE, 0, None)]
    assert fixture.stored["users", "alice"] == {"SCRAM-SHA-256": "secret"}


def test_a_change_is_made_to_what_another_client_has_stored_meanwhile() -> None:
    fixture = ConfigFixture()
    fixture.configs.held = []
    request = AlterClientQuotasRequest([entry(ALICE, producer_byte_rate=1.0)])
    later = ask(alter_client_quotas, 1, request, fixture.services)
    assert isinstance(later, Promise)
    fixture.store("users", "alice", {"SCRAM-SHA-256": "salt=..."})
    (first,), fixture.configs.held = fixture.configs.held, None
    first.complete(ErrorCode.INVALID_UPDATE_VERSION)
    assert [row.error_code for row in later.value.entries] == [0]
    assert fixture.stored["users", "alice"] == {"SCRAM-SHA-256": "salt=...", BYTES: "1"}


def test_to_remove_what_is_not_set_changes_nothing() -> None:
    fixture = ConfigFixture()
    assert alter(fixture, entry(ALICE, producer_byte_rate=None, no_such_rate=None)) == [(ALICE, 0, None)]
    assert fixture.stored == {}


def test_validation_stores_nothing() -> None:
    fixture = ConfigFixture()
    entries = [entry(ALICE, producer_byte_rate=1.0), entry((("user", "bob"),), no_such_rate=1.0)]
    assert alter(fixture, *entries, validate_only=True) == [
        (ALICE, 0, None),
        ((("user", "bob"),), 42, "Invalid configuration key no_such_rate"),
    ]
    assert fixture.stored == {}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (entry(()), "Invalid empty client quota entity"),
        (entry((("group", "g"),)), "Unhandled client quota entity type: group"),
        (entry((("user", ""),)), "Empty user not supported"),
        (entry(ALICE, producer_byte_rate=0.0), "Quota producer_byte_rate must be greater than 0"),
        (entry(ALICE, producer_byte_rate=1.5), "producer_byte_rate cannot be a fractional value."),
    ],
)
def test_an_entity_with_a_fault_does_not_stop_the_others(changed: Any, reason: str) -> None:
    fixture = ConfigFixture()
    bob = (("user", "bob"),)
    rows = alter(fixture, changed, entry(bob, producer_byte_rate=1.0))
    assert [(error, message) for _, error, message in rows] == [(42, reason), (0, None)]
    assert list(fixture.stored) == [("users", "bob")]


def test_all_changes_of_an_entity_are_made_or_none() -> None:
    fixture = ConfigFixture()
    (row,) = alter(fixture, entry(ALICE, producer_byte_rate=1.0, no_such_rate=1.0))
    assert row[1] == ErrorCode.INVALID_REQUEST
    assert fixture.stored == {}


def test_an_entity_that_is_named_twice_is_refused() -> None:
    fixture = ConfigFixture()
    twice = [entry(ALICE, producer_byte_rate=1.0), entry(ALICE, request_percentage=1.0)]
    ((_, error, _),) = alter(fixture, *twice)
    assert error == ErrorCode.INVALID_REQUEST
    assert fixture.stored == {}


def test_a_key_that_is_named_twice_is_refused() -> None:
    fixture = ConfigFixture()
    twice = AlterClientQuotasRequest.EntryData(
        [Part("user", "alice")], [Change(BYTES, 1.0), Change(BYTES, 2.0)]
    )
    ((_, error, _),) = alter(fixture, twice)
    assert error == ErrorCode.INVALID_REQUEST
    assert fixture.stored == {}


def test_a_store_that_fails_is_answered_with_its_error() -> None:
    fixture = ConfigFixture()
    fixture.configs.error = ErrorCode.KAFKA_STORAGE_ERROR
    ((_, error, message),) = alter(fixture, entry(ALICE, producer_byte_rate=1.0))
    assert (error, message) == (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.KAFKA_STORAGE_ERROR.message)


def test_a_client_that_may_not_alter_configs_of_the_cluster_is_refused() -> None:
    fixture = ConfigFixture()
    fixture.services.server.authorizer = Denying((Operation.ALTER_CONFIGS, CLUSTER))
    ((_, error, _),) = alter(fixture, entry(ALICE, producer_byte_rate=1.0))
    assert error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert fixture.stored == {}
