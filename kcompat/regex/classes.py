"""Classes of characters under the names that RE2 gives them, as bits of a mask.

Every alphabet includes ASCII. Beyond that, an alphabet has only the characters of the texts to be matched;
others cannot influence a match.
"""

from __future__ import annotations

import string
from bisect import bisect_left, bisect_right
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

from kcompat.regex.cases import Cases, cases
from kcompat.regex.scripts import NAMES, names_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

END: Final = 128
"""Code of the end of the text. Codes below it are ASCII, those above it an alphabet's own."""

ALL_OF_ASCII: Final = (1 << END) - 1


def mask_of(characters: Iterable[str]) -> int:
    """Return the class of these ASCII characters."""
    return sum(1 << ord(character) for character in set(characters))


_UPPER = mask_of(string.ascii_uppercase)
_LOWER = mask_of(string.ascii_lowercase)
_SHIFT = ord("a") - ord("A")
_FOLD_TO_ASCII = {0x17F: mask_of("sS"), 0x212A: mask_of("kK")}
"""The two characters beyond ASCII that are another case of an ASCII letter: long s and the Kelvin sign."""


class Alphabet:
    """An alphabet of ASCII and the characters of `beyond`. Classes are subsets of it."""

    def __init__(self, beyond: str = "") -> None:
        self._sorted = sorted(set(beyond))
        self._codes = {each: END + 1 + number for number, each in enumerate(self._sorted)}
        self.everything = ALL_OF_ASCII | sum(1 << code for code in self._codes.values())

    def codes(self, text: str) -> Sequence[int]:
        """Return the codes of a text's characters. Raises KeyError for one that is not in the alphabet."""
        if text.isascii():
            return text.encode()
        return [ord(each) if each.isascii() else self._codes[each] for each in text]

    def span(self, low: int, high: int) -> int:
        """Return the class of the characters from `low` to `high`."""
        top = min(high, END - 1)
        mask = ((1 << top + 1) - 1) & ~((1 << low) - 1) if low <= top else 0
        first = bisect_left(self._sorted, low, key=ord)
        last = bisect_right(self._sorted, high, key=ord)
        return mask | ((1 << last) - (1 << first)) << END + 1

    def folded(self, mask: int) -> int:
        """Return the class with the other cases of its ASCII letters added."""
        for code, letters in _FOLD_TO_ASCII.items():
            if mask & letters and chr(code) in self._codes:
                mask |= 1 << self._codes[chr(code)]
        return mask | (mask & _UPPER) << _SHIFT | (mask & _LOWER) >> _SHIFT

    def folded_span(self, low: int, high: int) -> int:
        """Return the class of the characters from `low` to `high` in any case."""
        mask = self.folded(self.span(low, high))
        for code, letters in _FOLD_TO_ASCII.items():
            if low <= code <= high:
                mask |= letters
        return mask | self._cases.those_in(low, high)

    @cached_property
    def _by_name(self) -> dict[str, int]:
        """Classes of the characters beyond ASCII by category and script; empty ones are left out."""
        found: dict[str, int] = {}
        for each, code in self._codes.items():
            for name in names_of(each):
                found[name] = found.get(name, 0) | 1 << code
        return found

    @cached_property
    def _cases(self) -> Cases:
        """The characters beyond ASCII that have another case."""
        return Cases((ord(case), 1 << code) for each, code in self._codes.items() for case in cases(each))

    def unicode_class(self, name: str) -> int | None:
        """Return the class of a general category or a script; None for a name that is neither."""
        if name == "Any":
            return self.everything
        if name not in NAMES:
            return None
        return ascii_of(name) | self._by_name.get(name, 0)


ASCII: Final = Alphabet()


PERL = {
    "d": mask_of(string.digits),
    "s": mask_of("\t\n\f\r "),
    "w": mask_of(string.ascii_letters + string.digits + "_"),
}
POSIX = {
    "alnum": mask_of(string.ascii_letters + string.digits),
    "alpha": mask_of(string.ascii_letters),
    "ascii": ALL_OF_ASCII,
    "blank": mask_of("\t "),
    "cntrl": ASCII.span(0, 0x1F) | mask_of("\x7f"),
    "digit": mask_of(string.digits),
    "graph": ASCII.span(ord("!"), ord("~")),
    "lower": _LOWER,
    "print": ASCII.span(ord(" "), ord("~")),
    "punct": mask_of(string.punctuation),
    "space": mask_of("\t\n\v\f\r "),
    "upper": _UPPER,
    "word": PERL["w"],
    "xdigit": mask_of(string.hexdigits),
}


@cache
def ascii_of(name: str) -> int:
    """Return the ASCII characters of a category or script.

    The result is cached, so `name` must be one of `NAMES`.
    """
    return mask_of(filter(lambda each: name in names_of(each), map(chr, range(END))))
