"""Classes of characters by the names that RE2 gives them, as bits of a mask.

ASCII is in every alphabet. Of what lies beyond, an alphabet has just the characters that its texts have: what
they do not have decides nothing.
"""

from __future__ import annotations

import string
import unicodedata
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

END: Final = 128
"""Stands for the character after the last. Those below it are ASCII, those above an alphabet's own."""

ALL_OF_ASCII: Final = (1 << END) - 1


def mask_of(characters: Iterable[str]) -> int:
    """The class of these ASCII characters."""
    return sum(1 << ord(character) for character in set(characters))


_UPPER = mask_of(string.ascii_uppercase)
_LOWER = mask_of(string.ascii_lowercase)
_SHIFT = ord("a") - ord("A")
_FOLD_TO_ASCII = {0x17F: mask_of("sS"), 0x212A: mask_of("kK")}
"""The two characters beyond ASCII that are another case of an ASCII letter: long s and the Kelvin sign."""


class Alphabet:
    """The characters of texts: ASCII, and those of `beyond`. Classes are sets of them."""

    def __init__(self, beyond: str = "") -> None:
        self._sorted = sorted(set(beyond))
        self._codes = {each: END + 1 + number for number, each in enumerate(self._sorted)}
        self._cases = {each: _cases(each) for each in self._codes}
        self.everything = ALL_OF_ASCII | sum(1 << code for code in self._codes.values())

    def codes(self, text: str) -> Sequence[int]:
        """The bits of the characters of a text. Raises KeyError for one that is not in the alphabet."""
        if text.isascii():
            return text.encode()
        return [ord(each) if each.isascii() else self._codes[each] for each in text]

    def span(self, low: int, high: int) -> int:
        """The class of the characters from `low` to `high`."""
        top = min(high, END - 1)
        mask = ((1 << top + 1) - 1) & ~((1 << low) - 1) if low <= top else 0
        first = bisect_left(self._sorted, low, key=ord)
        last = bisect_right(self._sorted, high, key=ord)
        return mask | ((1 << last) - (1 << first)) << END + 1

    def folded(self, mask: int) -> int:
        """The class with the other cases of each of its ASCII letters."""
        for code, letters in _FOLD_TO_ASCII.items():
            if mask & letters and chr(code) in self._codes:
                mask |= 1 << self._codes[chr(code)]
        return mask | (mask & _UPPER) << _SHIFT | (mask & _LOWER) >> _SHIFT

    def folded_span(self, low: int, high: int) -> int:
        """The characters from `low` to `high` in any case."""
        mask = self.folded(self.span(low, high))
        for code, letters in _FOLD_TO_ASCII.items():
            if low <= code <= high:
                mask |= letters
        for each, code in self._codes.items():
            if any(low <= ord(case) <= high for case in self._cases[each]):
                mask |= 1 << code
        return mask

    def unicode_class(self, name: str) -> int | None:
        """The class of a general category or a script; None for a name that is neither."""
        if name == "Any":
            return self.everything
        if name in _CATEGORIES:
            return self._those(lambda each: unicodedata.category(each).startswith(name))
        if name in ("Latin", "Common") or name in _SCRIPTS_WITHOUT_ASCII:
            return self._those(lambda each: _script(each) == name)
        return None

    def _those(self, is_meant: Callable[[str], bool]) -> int:
        mask = sum(1 << code for code in range(END) if is_meant(chr(code)))
        return mask | sum(1 << code for each, code in self._codes.items() if is_meant(each))


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


def _cases(character: str) -> set[str]:
    """A letter and its other cases."""
    cases, todo = {character}, [character]
    while todo:
        each = todo.pop()
        found = {each.upper(), each.lower(), each.title()} - cases
        new = {case for case in found if len(case) == 1}
        cases |= new
        todo += new
    return cases


def _script(character: str) -> str:
    """The script of a character, as its name begins; `Common` for all that is no letter."""
    if unicodedata.category(character)[0] not in "LM":
        return "Common"
    name = unicodedata.name(character, "")
    if name.startswith("CJK "):
        return "Han"
    found = [each for each in _SCRIPTS if name.startswith(f"{each.upper().replace('_', ' ')} ")]
    return max(found, key=len, default="Common")


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


_SCRIPTS = _SCRIPTS_WITHOUT_ASCII | {"Latin"}

_CATEGORIES = frozenset(
    """
    C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs
    """.split()  # noqa: SIM905  as above
)
