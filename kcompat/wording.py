"""Texts of users and clients in sentences: misspelt names, characters that do not print, addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIKENESS: Final = 0.8
"""Lowest ratio of difflib at which a name counts as a misspelling of another."""
_FEWEST_LETTERS: Final = 4
"""Minimum number of letters of a prefix that stands for a whole name."""


def meant_name(written: object, known: Iterable[str]) -> str | None:
    """Return the known name that `written` is a misspelling or the beginning of; None if there is none.

    Only letters and digits count, capital or not.
    """
    import difflib  # late: only a misspelt name needs it

    letters = _letters_of(str(written))
    by_letters = {_letters_of(name): name for name in known}
    near = difflib.get_close_matches(letters, by_letters, 1, _LIKENESS)
    if not near and len(letters) >= _FEWEST_LETTERS:
        near = [each for each in by_letters if each.startswith(letters)]
    return by_letters[near[0]] if near else None


def _letters_of(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def printable(text: str) -> str:
    """Return the text with an escape, such as `\\x1b`, in place of each character that does not print."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def as_address(host: str, port: int) -> str:
    """Return HOST:PORT in the form of `bootstrap.servers`, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
