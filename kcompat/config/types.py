"""The types of configuration values: text to value and back, as Kafka's `ConfigDef` does it."""

from __future__ import annotations

import re
from decimal import Decimal
from enum import IntEnum

from kcompat.config.errors import InvalidValueError

Value = bool | int | float | str | list[str] | None
"""A parsed value; which of these a key has, its `ConfigType` says."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)[fFdD]?")


class ConfigType(IntEnum):
    """Kafka's types of values; the numbers are those of DescribeConfigs v3 and later."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @property
    def is_sensitive(self) -> bool:
        """Whether values are never shown. As in Kafka, a value of unknown type counts as a secret."""
        return self in (ConfigType.PASSWORD, ConfigType.UNKNOWN)


_INTEGER_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


def parse_value(name: str, kind: ConfigType, text: str) -> Value:
    """The value that `text` stands for.

    Raises:
        InvalidValueError: the text is not of the type, in Kafka's words.
    """
    trimmed = text.strip()
    if kind in _INTEGER_BITS:
        return _parse_integer(name, kind, trimmed)
    if kind is ConfigType.BOOLEAN:
        lowered = trimmed.lower()
        if lowered not in ("true", "false"):
            raise InvalidValueError(name, text, "Expected value to be either true or false")
        return lowered == "true"
    if kind is ConfigType.DOUBLE:
        if not _FLOAT.fullmatch(trimmed):
            raise InvalidValueError(name, trimmed, f"Not a number of type {kind.name}")
        return float(trimmed.rstrip("fFdD"))
    if kind is ConfigType.LIST:
        return [part.strip() for part in trimmed.split(",")] if trimmed else []
    return trimmed


def _parse_integer(name: str, kind: ConfigType, text: str) -> int:
    limit = 1 << (_INTEGER_BITS[kind] - 1)
    # The length is checked first: a number of a million digits would cost seconds to convert.
    if not _INTEGER.fullmatch(text) or len(text) > 40 or not -limit <= int(text) < limit:
        raise InvalidValueError(name, text, f"Not a number of type {kind.name}")
    return int(text)


def format_value(value: Value) -> str | None:
    """A value as Kafka writes it, so that parsing gives it back."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _format_double(value)
    if isinstance(value, list):
        return ",".join(value)
    return str(value)


def _format_double(value: float) -> str:
    """Java's `Double.toString`: plain from 0.001 to 10 million, else one digit, a fraction and E."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    mantissa = "".join(map(str, digits)).rstrip("0") or "0"
    scale = exponent + len(digits) - 1
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}E{scale}"
