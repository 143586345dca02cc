"""A finding of the doctor: what is wrong, and what to do about it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_NAMED: Final = 5
"""Maximum number of names in one sentence."""


class Severity(Enum):
    """Severity of a finding."""

    ERROR = "error"
    """Clients fail, or records are in danger."""
    WARNING = "warning"
    """Clients may fail later."""
    NOTE = "note"
    """A check could not read something. Notes alone do not make the exit code 1."""


class Finding(Struct, frozen=True):
    """A fault, or the remark that a check could not read something."""

    name: str
    """Short name for programs, such as `nothing-listens`."""
    severity: Severity
    what: str
    """Sentence that says what is wrong."""
    advice: str
    """Sentence that says how to correct it."""


def error(name: str, what: str, advice: str) -> Finding:
    """Return a finding about a fault that already makes clients fail."""
    return Finding(name, Severity.ERROR, what, advice)


def warning(name: str, what: str, advice: str) -> Finding:
    """Return a finding about a fault that may make clients fail later."""
    return Finding(name, Severity.WARNING, what, advice)


def note(name: str, what: str, advice: str) -> Finding:
    """Return the remark that a check could not read something."""
    return Finding(name, Severity.NOTE, what, advice)


def some(names: Iterable[object]) -> str:
    """Return the first names, and the number of the others."""
    found = [str(name) for name in names]
    more = len(found) - MOST_NAMED
    return ", ".join(found[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
