"""A pattern that RE2 does not take."""

from __future__ import annotations


class PatternError(Exception):
    """What is wrong with a pattern, in the words of RE2/J."""
