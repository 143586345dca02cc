"""The general categories and scripts of Unicode, under the names that RE2 gives them."""

from __future__ import annotations

import unicodedata
from typing import Final

_SCRIPTS = frozenset(
    """
    Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid
    Canadian_Aboriginal Carian Cham Cherokee Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari
    Egyptian_Hieroglyphs Ethiopic Georgian Glagolitic Gothic Greek Gujarati Gurmukhi Han Hangul Hanunoo
    Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese
    Kaithi Kannada Katakana Kayah_Li Kharoshthi Khmer Lao Latin Lepcha Limbu Linear_B Lisu Lycian Lydian
    Malayalam Mandaic Meetei_Mayek Mongolian Myanmar New_Tai_Lue Nko Ogham Ol_Chiki Old_Italic
    Old_Persian Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang Runic Samaritan
    Saurashtra Shavian Sinhala Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet
    Tamil Telugu Thaana Thai Tibetan Tifinagh Ugaritic Unknown Vai Yi
    """.split()  # noqa: SIM905  so many names read better as text
)

_CATEGORIES = frozenset(
    """
    C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs
    """.split()  # noqa: SIM905  as above
)

NAMES: Final = _CATEGORIES | _SCRIPTS | {"Common"}
"""All names of categories and scripts."""

_SCRIPT_OF_WORDS: Final = {script.upper().replace("_", " "): script for script in _SCRIPTS}
_MOST_WORDS: Final = max(len(words.split()) for words in _SCRIPT_OF_WORDS)


def names_of(character: str) -> tuple[str, str, str]:
    """Return a character's category, the one-letter category that includes it, and its script."""
    category = unicodedata.category(character)
    return category, category[0], _script(character)


def _script(character: str) -> str:
    """Return the script of a character, from the start of its Unicode name; `Common` for characters that are
    no letters.
    """
    if unicodedata.category(character)[0] not in "LM":
        return "Common"
    words = unicodedata.name(character, "").split()
    if words[:1] == ["CJK"]:
        return "Han"
    for count in range(min(_MOST_WORDS, len(words) - 1), 0, -1):
        found = _SCRIPT_OF_WORDS.get(" ".join(words[:count]))
        if found is not None:
            return found
    return "Common"
