"""Patterns by their texts, compiled once."""

from __future__ import annotations

from functools import lru_cache

from kcompat.regex.errors import PatternError
from kcompat.regex.parser import parse
from kcompat.regex.program import Pattern

REMEMBERED = 32
"""Patterns asked for last: each is compiled when a member brings it, and again when topics change."""


@lru_cache(REMEMBERED)
def compiled(text: str) -> Pattern:
    """The compiled pattern. Raises `PatternError`."""
    return Pattern(parse(text))


def problem(text: str) -> str | None:
    """What is wrong with a pattern; None for one that can be compiled."""
    try:
        compiled(text)
    except PatternError as error:
        return str(error)
    return None
