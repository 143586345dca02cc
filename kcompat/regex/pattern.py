"""Patterns by their texts, compiled once."""

from __future__ import annotations

from functools import lru_cache

from kcompat.regex.classes import ASCII, Alphabet
from kcompat.regex.errors import PatternError
from kcompat.regex.parser import parse
from kcompat.regex.program import Pattern

REMEMBERED = 32
"""Patterns asked for last: each is compiled when a member brings it, and again when topics change."""


@lru_cache(REMEMBERED)
def compiled(text: str, beyond_ascii: str = "") -> Pattern:
    """The compiled pattern, for texts of ASCII and these characters. Raises `PatternError`."""
    alphabet = Alphabet(beyond_ascii) if beyond_ascii else ASCII
    return Pattern(parse(text, alphabet), alphabet)


def problem(text: str) -> str | None:
    """Return why a pattern cannot be compiled, in the words of RE2/J; None for a valid pattern."""
    try:
        compiled(text)
    except PatternError as error:
        return str(error)
    return None
