from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcompat.config.errors import InvalidValueError
from kcompat.config.java_text import split_pairs
from kcompat.config.types import ConfigType, format_value, parse_value
from kcompat.config.validators import FormatVersion


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ConfigType.BOOLEAN, "true", True),
        (ConfigType.BOOLEAN, " FALSE ", False),
        (ConfigType.INT, " 2147483647", 2147483647),
        (ConfigType.INT, "-2147483648", -2147483648),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.LONG, "9223372036854775807", 9223372036854775807),
        (ConfigType.DOUBLE, "0.5", 0.5),
        (ConfigType.DOUBLE, "1.7976931348623157E308", 1.7976931348623157e308),
        (ConfigType.LIST, "a, b,,c", ["a", "b", "", "c"]),
        (ConfigType.LIST, "  ", []),
        (ConfigType.STRING, " a b ", "a b"),
        (ConfigType.PASSWORD, "secret", "secret"),
    ],
)
def test_parse(kind: ConfigType, text: str, value: object) -> None:
    assert parse_value("k", kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (
            ConfigType.BOOLEAN,
            "yes",
            "Invalid value yes for configuration k: Expected value to be either true or false",
        ),
        (
            ConfigType.INT,
            "2147483648",
            "Invalid value 2147483648 for configuration k: Not a number of type INT",
        ),
        (ConfigType.SHORT, "40000", "Invalid value 40000 for configuration k: Not a number of type SHORT"),
        (ConfigType.LONG, "1_000", "Invalid value 1_000 for configuration k: Not a number of type LONG"),
        (ConfigType.LONG, "", "Invalid value  for configuration k: Not a number of type LONG"),
        (ConfigType.DOUBLE, "half", "Invalid value half for configuration k: Not a number of type DOUBLE"),
    ],
)
def test_parse_refuses(kind: ConfigType, text: str, message: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        parse_value("k", kind, text)
    assert str(caught.value) == message


def test_a_number_of_a_million_digits_is_refused_at_once() -> None:
    with pytest.raises(InvalidValueError):
        parse_value("k", ConfigType.LONG, "1" * 1_000_000)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (7, "7"),
        (None, None),
        (["a", "b"], "a,b"),
        (0.9, "0.9"),
        (0.05, "0.05"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (0.0001, "1.0E-4"),
        (12345678.0, "1.2345678E7"),
        (-1.5e10, "-1.5E10"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
    ],
)
def test_format_writes_what_java_would(value: object, text: str | None) -> None:
    assert format_value(value) == text  # type: ignore[arg-type]


def read(kind: str, text: str) -> object:
    """Return what is made of a text, as the table has it: pairs as a mapping, a double as text of Python."""
    if kind == "PAIRS":
        return dict(split_pairs(text))
    if kind == "VERSION":
        problem = FormatVersion().problem(text)
        if problem is not None:
            raise ValueError(problem)
        return text
    return parse_value("k", ConfigType[kind], text)


VALUES_OF_KAFKA = json.loads(Path(__file__).with_name("values_of_kafka.json").read_text())
"""Odd values, and what the parsers of a Kafka 3.9.2 made of them: interop-tests/test_config_values.py."""


@pytest.mark.parametrize(("kind", "text", "outcome", "answer"), VALUES_OF_KAFKA)
def test_values_are_read_as_kafka_reads_them(kind: str, text: str, outcome: str, answer: object) -> None:
    if outcome == "value":
        assert repr(read(kind, text)) == repr(float(str(answer)) if kind == "DOUBLE" else answer)
        return
    with pytest.raises((InvalidValueError, ValueError)) as caught:
        read(kind, text)
    if kind != "PAIRS":
        assert str(caught.value) == answer


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ConfigType.LIST, f"a{' ' * 1_000_000}b"),
        (ConfigType.DOUBLE, "1" * 1_000_000),
        (ConfigType.STRING, f"a{' ' * 1_000_000}b"),
    ],
)
def test_a_value_of_a_million_characters_is_read(kind: ConfigType, text: str) -> None:
    assert parse_value("k", kind, text) is not None


@pytest.mark.parametrize("text", ["1" * 1_000_000 + "x", "0x" + "1" * 1_000_000, "1" * 1_000_000 + "e"])
def test_a_double_of_a_million_characters_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        parse_value("k", ConfigType.DOUBLE, text)


def test_a_number_of_a_million_zeros_is_read() -> None:
    assert parse_value("k", ConfigType.LONG, "0" * 1_000_000 + "7") == 7
