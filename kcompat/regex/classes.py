"""Classes of characters by the names that RE2 gives them, as far as ASCII goes."""

from __future__ import annotations

import string
import unicodedata
from typing import TYPE_CHECKING

from kcompat.regex.program import ALPHABET

if TYPE_CHECKING:
    from collections.abc import Iterable

EVERYTHING = (1 << ALPHABET) - 1


def mask_of(characters: Iterable[str]) -> int:
    """The class of these characters; those beyond ASCII are in no name."""
    mask = 0
    for character in characters:
        if ord(character) < ALPHABET:
            mask |= 1 << ord(character)
    return mask


def span(low: int, high: int) -> int:
    """The class of the characters from `low` to `high`."""
    high = min(high, ALPHABET - 1)
    return ((1 << high + 1) - 1) & ~((1 << low) - 1) if low <= high else 0


_ALL = "".join(map(chr, range(ALPHABET)))
_UPPER = mask_of(string.ascii_uppercase)
_LOWER = mask_of(string.ascii_lowercase)
_SHIFT = ord("a") - ord("A")
_FOLD_TO_ASCII = {0x17F: mask_of("sS"), 0x212A: mask_of("kK")}
"""The two characters beyond ASCII that are another case of an ASCII letter: long s and the Kelvin sign."""


def folded(mask: int) -> int:
    """The class with the other case of each of its letters."""
    return mask | (mask & _UPPER) << _SHIFT | (mask & _LOWER) >> _SHIFT


def folded_span(low: int, high: int) -> int:
    """The characters from `low` to `high` in either case."""
    mask = folded(span(low, high))
    for code, letters in _FOLD_TO_ASCII.items():
        if low <= code <= high:
            mask |= letters
    return mask


PERL = {
    "d": mask_of(string.digits),
    "s": mask_of("\t\n\f\r "),
    "w": mask_of(string.ascii_letters + string.digits + "_"),
}
POSIX = {
    "alnum": mask_of(string.ascii_letters + string.digits),
    "alpha": mask_of(string.ascii_letters),
    "ascii": EVERYTHING,
    "blank": mask_of("\t "),
    "cntrl": span(0, 0x1F) | mask_of("\x7f"),
    "digit": mask_of(string.digits),
    "graph": span(ord("!"), ord("~")),
    "lower": _LOWER,
    "print": span(ord(" "), ord("~")),
    "punct": mask_of(string.punctuation),
    "space": mask_of("\t\n\v\f\r "),
    "upper": _UPPER,
    "word": PERL["w"],
    "xdigit": mask_of(string.hexdigits),
}
_SCRIPTS_WITHOUT_ASCII = frozenset(
    """
    Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid
    Canadian_Aboriginal Carian Cham Cherokee Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari
    Egyptian_Hieroglyphs Ethiopic Georgian Glagolitic Gothic Greek Gujarati Gurmukhi Han Hangul Hanunoo
    Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese
    Kaithi Kannada Katakana Kayah_Li Kharoshthi Khmer Lao Lepcha Limbu Linear_B Lisu Lycian Lydian
    Malayalam Mandaic Meetei_Mayek Mongolian Myanmar New_Tai_Lue Nko Ogham Ol_Chiki Old_Italic
    Old_Persian Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang Runic Samaritan
    Saurashtra Shavian Sinhala Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet
    Tamil Telugu Thaana Thai Tibetan Tifinagh Ugaritic Unknown Vai Yi
    """.split()  # noqa: SIM905  so many names read better as text
)


def unicode_class(name: str) -> int | None:
    """The class of a general category or a script; None for a name that is neither."""
    if name == "Any":
        return EVERYTHING
    if name in _CATEGORIES:
        return mask_of(char for char in _ALL if unicodedata.category(char).startswith(name))
    if name == "Latin":
        return _UPPER | _LOWER
    if name == "Common":
        return EVERYTHING & ~(_UPPER | _LOWER)
    return 0 if name in _SCRIPTS_WITHOUT_ASCII else None


_CATEGORIES = frozenset(
    """
    C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs
    """.split()  # noqa: SIM905  as above
)
