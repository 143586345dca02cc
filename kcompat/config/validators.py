"""Conditions on a value beyond its type, in Kafka's words where clients can see them.

A validator returns the reason why a value is not allowed, or None. `allowed` describes the allowed values to
readers of the documentation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.config.types import Value

_REPLICA = re.compile(r"[0-9]+:[0-9]+")


class Validator(Protocol):
    """Check of a parsed value of a key."""

    @property
    def allowed(self) -> str:
        """The allowed values, in a few words."""

    def problem(self, value: Value) -> str | None:
        """Return the reason why the value is not allowed, or None."""


class Range(Struct, frozen=True):
    """A number between two bounds, both included; None for an open end (`ConfigDef.Range`)."""

    low: float
    high: float | None = None

    @property
    def allowed(self) -> str:
        return f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"

    def problem(self, value: Value) -> str | None:
        if not isinstance(value, (int, float)):
            return "Value must be non-null"
        if value < self.low:
            return f"Value must be at least {self.low}"
        if self.high is not None and value > self.high:
            return f"Value must be no more than {self.high}"
        return None


class OneOf(Struct, frozen=True):
    """One of a few strings (`ConfigDef.ValidString` and its case-insensitive variant)."""

    choices: tuple[str, ...]
    ignore_case: bool = False

    @property
    def allowed(self) -> str:
        return ", ".join(self.choices)

    def problem(self, value: Value) -> str | None:
        found = value.upper() if self.ignore_case and isinstance(value, str) else value
        if found in self.choices:
            return None
        hint = " (case insensitive)" if self.ignore_case else ""
        return f"String must be one of{hint}: {', '.join(choice or 'nothing' for choice in self.choices)}"


class EachOneOf(Struct, frozen=True):
    """A list whose elements are all among a few strings (`ConfigDef.ValidList`). The list may be empty."""

    choices: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return f"any of {', '.join(self.choices)}"

    def problem(self, value: Value) -> str | None:
        assert isinstance(value, list)
        if all(item in self.choices for item in value):
            return None
        return f"String must be one of: {', '.join(self.choices)}"

    def first_bad(self, value: Value) -> str | None:
        """Return the first element that is not allowed, the only one that Kafka's message names."""
        assert isinstance(value, list)
        return next((item for item in value if item not in self.choices), None)


class NotEmpty(Struct, frozen=True):
    """A string that is not empty (`ConfigDef.NonEmptyString`); null means the default."""

    allowed: str = "not empty"

    def problem(self, value: Value) -> str | None:
        return "String must be non-empty" if value == "" else None


class GzipLevel(Struct, frozen=True):
    """A gzip level: 1 to 9, or -1 for the library's own choice."""

    allowed: str = "1 to 9, or -1"

    def problem(self, value: Value) -> str | None:
        if value == -1 or (isinstance(value, int) and 1 <= value <= 9):
            return None
        return "Value must be between 1 and 9 or equal to -1"


class PositiveOrDefault(Struct, frozen=True):
    """A number of threads; -1 stands for the value of another key."""

    allowed: str = "at least 1, or -1"

    def problem(self, value: Value) -> str | None:
        if value == -1 or (isinstance(value, int) and value >= 1):
            return None
        return "Value must be at least 1 or equal to -1"


class ThrottledReplicas(Struct, frozen=True):
    """`*`, or partition:broker pairs (Kafka's `ThrottledReplicaListValidator`)."""

    name: str
    allowed: str = "`*`, or partition:broker pairs"

    def problem(self, value: Value) -> str | None:
        assert isinstance(value, list)
        if value == ["*"] or all(not replica or _REPLICA.fullmatch(replica) for replica in value):
            return None
        return (
            f"{self.name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        )


class FormatVersion(Struct, frozen=True):
    """A Kafka version in the form of `inter.broker.protocol.version` and `message.format.version`."""

    allowed: str = "a Kafka version such as 2.8 or 3.9-IV0"

    def problem(self, value: Value) -> str | None:
        if isinstance(value, str) and significant_version(value) in _VERSIONS:
            return None
        return f"Version {value} is not a valid version"


_REVISIONS = {
    "0.8.0": 0, "0.8.1": 0, "0.8.2": 0, "0.9.0": 0, "0.10.0": 2, "0.10.1": 3, "0.10.2": 1, "0.11.0": 3,
    "1.0": 1, "1.1": 1,
    "2.0": 2, "2.1": 3, "2.2": 2, "2.3": 2, "2.4": 2, "2.5": 1, "2.6": 1, "2.7": 3, "2.8": 2,
    "3.0": 2, "3.1": 1, "3.2": 1, "3.3": 4, "3.4": 1, "3.5": 3, "3.6": 3, "3.7": 5, "3.8": 1, "3.9": 1,
}  # fmt: skip
"""Kafka versions that Kafka 3.9 knows, with the number of protocol versions (IV0, IV1, ...) of each."""

_VERSIONS = {*_REVISIONS, "4.0-IV0", "4.0-IV1"}.union(
    f"{release}-IV{number}" for release, count in _REVISIONS.items() for number in range(count)
)


def significant_version(text: str) -> str:
    """Return the first segments of a version, the only ones that Kafka reads: `3.9-IV0` of `3.9-IV0.3`."""
    segments = text.rstrip(".").split(".")
    counted = 3 if text.startswith("0.") else 2
    return ".".join(segments[:counted]) if len(segments) > counted else text
