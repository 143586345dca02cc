"""Parsing of bracketed character classes and of backslash escapes."""

from __future__ import annotations

import re

from kcompat.regex.classes import ASCII, PERL, POSIX, Alphabet
from kcompat.regex.nodes import PatternError

MAX_CODE = 0x10FFFF
_BAD_RANGE = "invalid character class range"
_BAD_ESCAPE = "invalid escape sequence"
_CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_HEX = re.compile(r"x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")


class Reader:
    """A pattern and the position of the next character; `alphabet` has the characters of its classes."""

    def __init__(self, text: str, alphabet: Alphabet = ASCII) -> None:
        self.text = text
        self.alphabet = alphabet
        self.at = 0
        self._last = text.rfind(":]")

    @property
    def has_more(self) -> bool:
        """Whether characters are left."""
        return self.at < len(self.text)

    def take(self) -> str:
        """Return the next character and move past it."""
        self.at += 1
        return self.text[self.at - 1]

    def is_at(self, text: str) -> bool:
        """Return whether `text` stands at the current position."""
        return self.text.startswith(text, self.at)

    def end_of_name(self) -> int:
        """Return the position of the next `:]`, or -1, without searching the whole rest."""
        return self.text.find(":]", self.at) if self.at <= self._last else -1


def read_class(reader: Reader, folds: bool) -> int:
    """Read a bracketed class; return its mask."""
    reader.at += 1
    negated = reader.is_at("^")
    reader.at += negated
    mask, first = 0, True
    while first or not reader.is_at("]"):
        first = False
        found = _named_class(reader, folds) if reader.is_at("[:") else class_escape(reader, folds)
        mask |= _range(reader, folds) if found is None else found
    reader.at += 1
    return reader.alphabet.everything & ~mask if negated else mask


def _range(reader: Reader, folds: bool) -> int:
    low = high = _class_character(reader)
    if reader.is_at("-") and not reader.is_at("-]"):
        reader.at += 1
        high = _class_character(reader)
        if high < low:
            raise PatternError(_BAD_RANGE)
    return reader.alphabet.folded_span(low, high) if folds else reader.alphabet.span(low, high)


def _class_character(reader: Reader) -> int:
    if not reader.has_more:
        raise PatternError("missing closing ]")
    return read_escape(reader) if reader.is_at("\\") else ord(reader.take())


def _named_class(reader: Reader, folds: bool) -> int | None:
    """Read `[:name:]` or `[:^name:]`; return None without an end: then it is two plain characters."""
    end = reader.end_of_name()
    if end < 0:
        return None
    name = reader.text[reader.at + 2 : end]
    mask = POSIX.get(name.removeprefix("^"))
    if mask is None:
        raise PatternError(_BAD_RANGE)
    reader.at = end + 2
    return _signed(reader.alphabet, mask, folds, name.startswith("^"))


def class_escape(reader: Reader, folds: bool) -> int | None:
    r"""Read a class such as `\d`, `\W`, `\pL` or `\P{Greek}`; return None if none comes next."""
    if not reader.is_at("\\"):
        return None
    letter = reader.text[reader.at + 1 : reader.at + 2]
    if letter and letter in "pP":
        return _unicode_class(reader, folds, letter == "P")
    mask = PERL.get(letter.lower())
    if mask is None:
        return None
    reader.at += 2
    return _signed(reader.alphabet, mask, folds, letter.isupper())


def _unicode_class(reader: Reader, folds: bool, negated: bool) -> int:
    reader.at += 2
    if not reader.has_more:
        raise PatternError(_BAD_RANGE)
    name = reader.take()
    if name == "{":
        end = reader.text.find("}", reader.at)
        if end < 0:
            raise PatternError(_BAD_RANGE)
        name = reader.text[reader.at : end]
        reader.at = end + 1
    mask = reader.alphabet.unicode_class(name.removeprefix("^"))
    if mask is None:
        raise PatternError(_BAD_RANGE)
    return _signed(reader.alphabet, mask, folds, negated != name.startswith("^"))


def _signed(alphabet: Alphabet, mask: int, folds: bool, negated: bool) -> int:
    mask = alphabet.folded(mask) if folds else mask
    return alphabet.everything & ~mask if negated else mask


def read_escape(reader: Reader) -> int:
    """Read one escaped character after a backslash; return its code."""
    reader.at += 1
    if not reader.has_more:
        raise PatternError("trailing backslash at end of expression")
    letter = reader.text[reader.at]
    if not (letter.isascii() and letter.isalnum()):
        reader.at += 1
        return ord(letter)
    if letter in _CONTROLS:
        reader.at += 1
        return _CONTROLS[letter]
    octal = _OCTAL.match(reader.text, reader.at)
    if octal is not None:
        reader.at = octal.end()
        return int(octal[0], 8)
    found = _HEX.match(reader.text, reader.at)
    if found is not None:
        digits = (found[1] or found[2]).lstrip("0")
        if len(digits) <= len(f"{MAX_CODE:x}") and int(digits or "0", 16) <= MAX_CODE:
            reader.at = found.end()
            return int(digits or "0", 16)
    raise PatternError(_BAD_ESCAPE)
