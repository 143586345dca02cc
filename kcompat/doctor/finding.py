"""A finding of the doctor: what is wrong, and what to do about it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_NAMED: Final = 5
"""Most things of one kind that a sentence names."""


class Severity(Enum):
    """How much a finding matters."""

    ERROR = "error"
    """Clients fail, or records are in danger."""
    WARNING = "warning"
    """Clients may fail later."""
    NOTE = "note"
    """Something could not be looked at. A note alone does not make the exit code 1."""


class Finding(Struct, frozen=True):
    """Something that is wrong, or that could not be looked at."""

    name: str
    """Short name for programs, such as `nothing-listens`."""
    severity: Severity
    what: str
    """Sentence that says what is wrong."""
    advice: str
    """Sentence that says what to do."""


def error(name: str, what: str, advice: str) -> Finding:
    """Return a finding that matters now."""
    return Finding(name, Severity.ERROR, what, advice)


def warning(name: str, what: str, advice: str) -> Finding:
    """Return a finding that may matter later."""
    return Finding(name, Severity.WARNING, what, advice)


def note(name: str, what: str, advice: str) -> Finding:
    """Return the remark that something could not be looked at."""
    return Finding(name, Severity.NOTE, what, advice)


def some(names: Iterable[object]) -> str:
    """Return the first names, and how many more there are."""
    found = [str(name) for name in names]
    more = len(found) - MOST_NAMED
    return ", ".join(found[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
