"""Errors about a configuration, each with a message of one sentence."""

from __future__ import annotations

from kcompat.errors import ConfigError as ConfigError


class InvalidValueError(ConfigError):
    """One key's value is not allowed. The message is worded as Kafka words it, because clients see it too."""

    def __init__(self, name: str, value: object, reason: str) -> None:
        super().__init__(f"Invalid value {value} for configuration {name}: {reason}")
        self.name = name
        self.value = value
        self.reason = reason


class RequirementError(ConfigError):
    """A rule between keys is broken. To clients Kafka says "requirement failed: " before the same words."""
