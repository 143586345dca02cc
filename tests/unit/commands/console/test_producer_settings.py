"""The settings of a console producer are checked as `ProducerConfig` checks them."""

from __future__ import annotations

import pytest

from kcompat.admin.errors import JavaError
from kcompat.commands.console.producer_settings import ProducerSettings
from kcompat.records.compression import Codec


def test_defaults_are_idempotent() -> None:
    settings = ProducerSettings.of({})
    assert (settings.acks, settings.is_idempotent, settings.codec) == (-1, True, Codec.NONE)
    assert not ProducerSettings.of({"acks": "1"}).is_idempotent
    assert not ProducerSettings.of({"retries": "0"}).is_idempotent
    assert not ProducerSettings.of({"enable.idempotence": "false"}).is_idempotent


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            {"acks": "7"},
            "Invalid value 7 for configuration acks: String must be one of: all, -1, 0, 1",
        ),
        (
            {"compression.type": "nonsense"},
            "Invalid value nonsense for configuration compression.type: "
            "String must be one of: none, gzip, snappy, lz4, zstd",
        ),
        ({"linger.ms": "x"}, "Invalid value x for configuration linger.ms: Not a number of type LONG"),
        ({"batch.size": "-1"}, "Invalid value -1 for configuration batch.size: Value must be at least 0"),
        (
            {"acks": "1", "enable.idempotence": "true"},
            "Must set acks to all in order to use the idempotent producer. "
            "Otherwise we cannot guarantee idempotence.",
        ),
        (
            {"enable.idempotence": "maybe"},
            "Invalid value maybe for configuration enable.idempotence: "
            "Expected value to be either true or false",
        ),
    ],
)
def test_impossible_values_are_refused(properties: dict[str, str], message: str) -> None:
    with pytest.raises(JavaError) as caught:
        ProducerSettings.of(properties)
    assert str(caught.value) == message
