"""Values of a client's settings, checked and refused in the words of Kafka's `ConfigDef`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from kcompat.admin.errors import config_error
from kcompat.config.java_text import trim

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.admin.errors import JavaError

Value = TypeVar("Value")

_BITS: Final = {"INT": 31, "LONG": 63}
_BOOLEANS: Final = {"true": True, "false": False}


def as_choice(properties: Mapping[str, str], key: str, default: str, values: Mapping[str, Value]) -> Value:
    """Return the value that the text of a setting stands for. Raises JavaError for a text that is not in
    `values`.
    """
    text = trim(properties.get(key, default))
    if text not in values:
        raise _refusal(key, text, f"String must be one of: {', '.join(values)}")
    return values[text]


def as_boolean(properties: Mapping[str, str], key: str, *, default: bool) -> bool:
    """Return a setting that is true or false. Raises JavaError for another text."""
    text = trim(properties.get(key, str(default))).lower()
    if text not in _BOOLEANS:
        raise _refusal(key, text, "Expected value to be either true or false")
    return _BOOLEANS[text]


def as_number(properties: Mapping[str, str], key: str, default: int, kind: str, smallest: int) -> int:
    """Return a setting that is a number of the kind `INT` or `LONG`. Raises JavaError for any other text."""
    text = trim(properties.get(key, str(default)))
    try:
        number = int(text)
    except ValueError:
        number = 1 << 64
    if not -(1 << _BITS[kind]) <= number < 1 << _BITS[kind]:
        raise _refusal(key, text, f"Not a number of type {kind}")
    if number < smallest:
        raise _refusal(key, text, f"Value must be at least {smallest}")
    return number


def _refusal(key: str, value: str, reason: str) -> JavaError:
    return config_error(f"Invalid value {value} for configuration {key}: {reason}")
