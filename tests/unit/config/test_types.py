from __future__ import annotations

import pytest

from kcompat.config.errors import InvalidValueError
from kcompat.config.types import ConfigType, format_value, parse_value


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
        (ConfigType.LONG, "٣", "Invalid value ٣ for configuration k: Not a number of type LONG"),
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
