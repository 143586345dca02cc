"""Numbers as Java prints them (`Double.toString`)."""

from __future__ import annotations

import math
from typing import Final

_PLAIN: Final = range(-3, 7)
"""Range of powers of ten that are written without an exponent."""


def java_double(value: float) -> str:
    """Return the text of a number: 1024.0, 1.0E7, Infinity."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return repr(value)
    mantissa, _, exponent = _shortest(value).partition("e")
    power = int(exponent)
    if power in _PLAIN:
        return f"{value:.{max(1, _decimals(mantissa) - power)}f}"
    whole, _, fraction = mantissa.partition(".")
    return f"{whole}.{fraction or '0'}E{power}"


def _shortest(value: float) -> str:
    """Return the fewest digits that stand for a number, as MANTISSAeEXPONENT."""
    for digits in range(17):
        text = f"{value:.{digits}e}"
        if float(text) == value:
            return text
    return f"{value:.17e}"


def _decimals(mantissa: str) -> int:
    return len(mantissa.partition(".")[2])
