"""Text of values as Java reads it, and prints it: numbers, lists, and the space that is trimmed.

Python's own functions differ: `str.strip` removes spaces of every script, `int` takes underscores, `float`
takes no hexadecimal digits. Every value of a configuration is read with the functions of this module.
"""

from __future__ import annotations

import math
import re
import struct
import unicodedata
from typing import Final

_TRIMMED: Final = "".join(map(chr, range(ord(" ") + 1)))
"""Characters that `String.trim` removes: the space and everything below it."""

_AROUND_COMMAS: Final = " \t\n\v\f\r"
_INTEGER: Final = re.compile(r"([+-]?)(\d+)")
_LAST_CHAR: Final = "\uffff"
"""The largest Java `char`: parseInt accepts no digits beyond it."""

_DECIMAL: Final = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL: Final = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?"
)
_DECIMAL_FROM: Final = 1e-3
_DECIMAL_BELOW: Final = 1e7
_NOT_FINITE: Final = re.compile(r"[+-]?(?:NaN|Infinity)")
_MOST_DIGITS: Final = 19
"""Digits of the largest 64-bit number: longer texts are refused before their costly conversion."""


def trim(text: str) -> str:
    """Remove spaces and control characters of ASCII from both ends; a no-break space stays."""
    return text.strip(_TRIMMED)


def split_list(text: str) -> list[str]:
    """Split at commas and drop ASCII white space around them; an empty text is an empty list.

    Elements may be empty. The text itself is expected to be trimmed.
    """
    return [element.strip(_AROUND_COMMAS) for element in text.split(",")] if text else []


def split_pairs(text: str) -> list[tuple[str, str]]:
    """Split a list of NAME:VALUE pairs, each at its last colon (Kafka's `Csv.parseCsvMap`).

    Raises:
        ValueError: an element has no colon; its argument is that element.
    """
    elements = split_list(text)
    while elements and not elements[-1]:  # `String.split` drops empty elements at the end
        elements.pop()
    pairs = []
    for element in elements:
        name, colon, value = element.rpartition(":")
        if not colon:
            raise ValueError(element)
        pairs.append((trim(name), trim(value)))
    return pairs


def is_word(text: str, word: str) -> bool:
    """Return whether `text` equals `word` apart from case (`String.equalsIgnoreCase`)."""
    return len(text) == len(word) and text.upper() == word.upper()


def parse_integer(text: str, bits: int) -> int:
    """Return the signed number of `bits` bits that `text` has in decimal digits of any script.

    Raises:
        ValueError: the text is not such a number, has space around it, or does not fit into `bits` bits.
    """
    match = _INTEGER.fullmatch(text)
    if match is None or max(match[2]) > _LAST_CHAR:
        raise ValueError(f"{text[:_MOST_DIGITS]!r} is not an integer")
    digits = match[2]
    if not digits.isascii():
        digits = "".join(str(unicodedata.decimal(digit)) for digit in digits)
    digits = digits.lstrip("0")
    limit = 1 << (bits - 1)
    if len(digits) > _MOST_DIGITS or not -limit <= (number := int(match[1] + (digits or "0"))) < limit:
        raise ValueError(f"a number of {len(digits)} digits does not fit into {bits} bits")
    return number


def parse_double(text: str) -> float:
    """Return the number that `Double.parseDouble` reads from `text`; hexadecimal numbers are included.

    Raises:
        ValueError: the text is not such a number, or has space around it.
    """
    if match := _DECIMAL.fullmatch(text):
        return float(match[1])
    if _NOT_FINITE.fullmatch(text):
        return float(text)
    if match := _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(match[1])
        except OverflowError:
            return float("-inf" if text.startswith("-") else "inf")
    raise ValueError("not a floating-point number")


def java_double(value: float, *, is_single: bool = False) -> str:
    """Return a number as Java's `Double.toString` prints it, or `Float.toString` for a 32-bit number.

    From 0.001 to 10 million a number has no exponent: 1024.0, but 1.0E7; others are NaN and Infinity.
    """
    from decimal import Decimal  # here, as most processes print no such number

    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    shortest = Decimal(_shortest_single(value) if is_single else repr(value))
    if value == 0 or _DECIMAL_FROM <= abs(value) < _DECIMAL_BELOW:
        text = format(shortest, "f")
        return text if "." in text else f"{text}.0"
    sign, digits, exponent = shortest.normalize().as_tuple()
    text = "".join(map(str, digits))
    return f"{'-' * sign}{text[0]}.{text[1:] or '0'}E{len(text) - 1 + int(exponent)}"


def _shortest_single(value: float) -> str:
    """Return the shortest decimal number that is this 32-bit number."""
    pack = struct.Struct(">f").pack
    return next(text for places in range(1, 10) if pack(float(text := f"{value:.{places}g}")) == pack(value))
