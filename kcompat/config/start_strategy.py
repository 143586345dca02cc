"""The offset reset strategy of a share group: `latest`, `earliest`, or `by_duration:` and a duration.

A duration is written as in Java, PnDTnHnMn.nS: the group begins with the records of that long ago. Kafka's
counterpart: `ShareGroupAutoOffsetResetStrategy`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.config.types import Value

LATEST: Final = "latest"
EARLIEST: Final = "earliest"
_BY_DURATION: Final = "by_duration:"
_DURATION: Final = re.compile(
    r"([+-]?)P(?:([+-]?\d+)D)?(?:T(?=[+\-\d])(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)


class StartStrategy(Struct, frozen=True):
    """Validator of offset reset strategies."""

    allowed: str = "latest, earliest, or by_duration:PnDTnHnMn.nS"

    def problem(self, value: Value) -> str | None:
        try:
            duration_of(str(value))
        except ValueError:
            return (
                "The value must be either 'earliest', 'latest' or of the format "
                "'by_duration:<PnDTnHnMn.nS.>'."
            )
        return None


def duration_of(strategy: str) -> int | None:
    """Return how long ago a group begins, in whole ms; None for `latest` and `earliest`.

    Raises ValueError for a text that is not a strategy.
    """
    lowered = strategy.lower()
    if lowered in (LATEST, EARLIEST):
        return None
    if not lowered.startswith(_BY_DURATION):
        raise ValueError(f"{strategy!r} is no strategy for the first offset of a share group")
    return _duration_ms(strategy[len(_BY_DURATION) :])


def _duration_ms(text: str) -> int:
    """Return a duration that is not negative, in whole milliseconds."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(part is not None for part in match.groups()[1:5]):
        raise ValueError(f"{text!r} is no duration")
    sign, days, hours, minutes, seconds, fraction = match.groups()
    whole = int(days or 0) * 86_400 + int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    part = int((fraction or "").ljust(3, "0")[:3])
    duration = whole * 1000 + (-part if (seconds or "").startswith("-") else part)
    duration = -duration if sign == "-" else duration
    if duration < 0:
        raise ValueError(f"{text!r} is a negative duration")
    return duration
