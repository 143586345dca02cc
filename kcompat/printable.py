"""Text from clients made safe to print: it cannot end a line or control a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return the text with an escape, such as `\\x1b`, in place of each character that does not print."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
