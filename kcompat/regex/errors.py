"""A pattern that RE2 does not take."""

from __future__ import annotations


class PatternError(Exception):
    """An invalid pattern; the message is that of RE2/J."""
