"""Errors about a configuration, each with a message of one sentence."""

from __future__ import annotations

from kcompat.errors import ConfigError as ConfigError


class InvalidValueError(ConfigError):
    """The value of a key is not allowed. The message is in Kafka's words, because clients see it too."""

    def __init__(self, name: str, value: object, reason: str) -> None:
        super().__init__(f"Invalid value {value} for configuration {name}: {reason}")
        self.name = name
        self.value = value
        self.reason = reason


class RequirementError(ConfigError):
    """The values of several keys break a rule.

    Kafka's message to clients has "requirement failed: " before the same words.
    """
