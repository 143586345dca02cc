"""The types of configuration values: conversion from text to value and back (Kafka's `ConfigDef`)."""

from __future__ import annotations

from enum import IntEnum

from kcompat.config.errors import InvalidValueError
from kcompat.config.java_text import is_word, java_double, parse_double, parse_integer, split_list, trim

Value = bool | int | float | str | list[str] | None
"""A parsed value; the `ConfigType` of its key determines which of these types it has."""


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
        """Whether values are never shown. A value of unknown type counts as a secret, in Kafka too."""
        return self in (ConfigType.PASSWORD, ConfigType.UNKNOWN)


_INTEGER_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


def parse_value(name: str, kind: ConfigType, text: str) -> Value:
    """Parse the text of a value of type `kind` (`ConfigDef.parseType`).

    Raises InvalidValueError, with Kafka's message, if the text is not of this type.
    """
    trimmed = trim(text)
    try:
        if kind in _INTEGER_BITS:
            return parse_integer(trimmed, _INTEGER_BITS[kind])
        if kind is ConfigType.DOUBLE:
            return parse_double(trimmed)
    except ValueError:
        raise InvalidValueError(name, text, f"Not a number of type {kind.name}") from None
    if kind is ConfigType.BOOLEAN:
        if not is_word(trimmed, "true") and not is_word(trimmed, "false"):
            raise InvalidValueError(name, text, "Expected value to be either true or false")
        return is_word(trimmed, "true")
    if kind is ConfigType.LIST:
        return split_list(trimmed)
    return trimmed


def format_value(value: Value) -> str | None:
    """Return the text that Kafka writes for a value; `parse_value` parses it to the same value."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, list):
        return ",".join(value)
    return str(value)
