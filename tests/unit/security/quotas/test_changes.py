"""Entities and values of quotas that are refused, and quotas among other dynamic configs."""

from __future__ import annotations

import pytest

from kcompat.security.quotas.changes import entity_of, fault_of_entity, fault_of_quota, quotas_in, stored

ALICE, HOST = entity_of({"user": "alice"}), entity_of({"ip": "10.0.0.1"})


def test_an_entity_has_its_types_in_one_order() -> None:
    assert entity_of({"client-id": "app", "user": None}) == (("user", None), ("client-id", "app"))


@pytest.mark.parametrize(
    "names",
    [
        {"user": "alice"},
        {"user": None},
        {"client-id": "app", "user": "alice"},
        {"client-id": None},
        {"ip": "10.0.0.1"},
        {"ip": "fe80::1"},
        {"ip": None},
    ],
)
def test_users_client_ids_and_addresses_are_entities(names: dict[str, str | None]) -> None:
    assert fault_of_entity(names) is None


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        ({}, "Invalid empty client quota entity"),
        ({"group": "g"}, "Unhandled client quota entity type: group"),
        ({"user": ""}, "Empty user not supported"),
        ({"ip": "here"}, "here is not a valid IP or resolvable host."),
        (
            {"ip": "10.0.0.1", "user": "alice"},
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
    ],
)
def test_other_names_are_refused(names: dict[str, str | None], fault: str) -> None:
    assert fault_of_entity(names) == fault


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("producer_byte_rate", 1.0, None),
        ("producer_byte_rate", 0.0, "Quota producer_byte_rate must be greater than 0"),
        ("consumer_byte_rate", -1.0, "Quota consumer_byte_rate must be greater than 0"),
        ("consumer_byte_rate", 1.5, "consumer_byte_rate cannot be a fractional value."),
        ("consumer_byte_rate", 1e-9, "consumer_byte_rate cannot be a fractional value."),
        ("consumer_byte_rate", 1e300, "Proposed value for consumer_byte_rate is too large for a LONG."),
        ("request_percentage", 0.5, None),
        ("request_percentage", float("nan"), "Quota request_percentage must be greater than 0"),
        ("request_percentage", float("inf"), "Quota request_percentage must be greater than 0"),
        ("controller_mutation_rate", 2.5, None),
        ("connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        ("no_such_rate", 1.0, "Invalid configuration key no_such_rate"),
    ],
)
def test_the_value_of_a_quota_is_checked(key: str, value: float, fault: str | None) -> None:
    assert fault_of_quota(ALICE, key, value) == fault


def test_addresses_have_another_key() -> None:
    key = "connection_creation_rate"
    assert fault_of_quota(HOST, key, 5.0) is None
    assert fault_of_quota(HOST, key, 2.0**31) == f"Proposed value for {key} is too large for an INT."
    assert fault_of_quota(HOST, "request_percentage", 5.0) == "Invalid configuration key request_percentage"


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("producer_byte_rate", 1024.0, "1024"),
        ("producer_byte_rate", 2.0**63, "9223372036854775807"),
        ("request_percentage", 12.5, "12.5"),
        ("request_percentage", 200.0, "200.0"),
    ],
)
def test_a_quota_is_stored_as_kafka_stores_it(key: str, value: float, text: str) -> None:
    assert stored(key, value) == text
    assert quotas_in(ALICE, {key: text}) == {key: value}


def test_only_quotas_are_read() -> None:
    configs = {
        "SCRAM-SHA-256": "salt=...",
        "producer_byte_rate": "1024",
        "consumer_byte_rate": "many",
        "request_percentage": "0",
        "controller_mutation_rate": "NaN",
        "connection_creation_rate": "1",
    }
    assert quotas_in(ALICE, configs) == {"producer_byte_rate": 1024.0}
    assert quotas_in(HOST, {"connection_creation_rate": "0"}) == {"connection_creation_rate": 0.0}
