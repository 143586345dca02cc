"""Checks of arguments that several kinds of faults share."""

from __future__ import annotations

from kcompat.errors import UsageError


def checked_served(served: bool) -> bool:
    """Return whether a struck request is served. Raises UsageError for what is neither True nor False."""
    if not isinstance(served, bool):
        raise UsageError(f"served={served!r} is neither True nor False")
    return served


def checked_ms(ms: float) -> float:
    """Return a time in ms that was given by a test. Raises UsageError for what is no time."""
    if isinstance(ms, bool) or not isinstance(ms, (int, float)) or not 0 < ms < float("inf"):
        raise UsageError(f"ms={ms!r} is not a time: use a number of milliseconds above 0")
    return ms
