"""Features in `/feature` and in the registrations of brokers."""

from __future__ import annotations

import json

import pytest

from kcompat.cluster.feature_levels import (
    HIGHEST_LEVELS,
    SUPPORTED,
    Levels,
    are_supported,
    decode_finalized,
    encode_finalized,
    supported_of,
    supported_payload,
)
from kcompat.cluster.payloads import DamagedZnodeError


def test_the_levels_are_written_as_by_kafka_3_9() -> None:
    data = encode_finalized({"transaction.version": 2})
    assert json.loads(data) == {
        "version": 2,
        "status": 1,
        "features": {"transaction.version": {"max_version_level": 2}},
    }
    assert decode_finalized(data) == {"transaction.version": 2}


def test_levels_as_brokers_before_3_3_have_written_them() -> None:
    old = '{"version":1,"status":%d,"features":{"a":{"min_version_level":1,"max_version_level":3}}}'
    assert decode_finalized((old % 1).encode()) == {"a": 3}
    assert decode_finalized((old % 0).encode()) is None


@pytest.mark.parametrize(
    "payload",
    [
        '{"version":3,"status":1,"features":{}}',
        '{"version":2,"status":7,"features":{}}',
        '{"version":2,"status":1}',
        '{"version":2,"status":1,"features":{"a":{}}}',
        '{"version":2,"status":1,"features":{"a":{"max_version_level":0}}}',
    ],
)
def test_damage_is_named(payload: str) -> None:
    with pytest.raises(DamagedZnodeError):
        decode_finalized(payload.encode())


def test_a_registration_says_nothing_of_level_0() -> None:
    payload = supported_payload({"a": Levels(0, 2), "b": Levels(3, 7)})
    assert payload == {
        "a": {"min_version": 1, "max_version": 2},
        "b": {"min_version": 3, "max_version": 7},
    }
    assert supported_of({"features": payload}) == {"a": Levels(1, 2), "b": Levels(3, 7)}
    assert supported_of({}) == {}


def test_a_broker_has_to_know_every_finalized_feature_at_its_level() -> None:
    assert are_supported({}, {})
    assert are_supported({"a": 2}, {"a": Levels(1, 2), "b": Levels(1, 1)})
    assert not are_supported({"a": 3}, {"a": Levels(1, 2)})
    assert not are_supported({"a": 1}, {"a": Levels(2, 2)})
    assert not are_supported({"a": 1}, {})
    assert are_supported(HIGHEST_LEVELS, SUPPORTED)
