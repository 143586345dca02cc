"""Names of topics that no other test has."""

from __future__ import annotations

import itertools
import re
from typing import Final

_LONGEST: Final = 200
"""Most characters of a test's name in a topic's name, which Kafka limits to 249."""

_numbers: Final = itertools.count(1)


def unique_topic(test: str, run: str = "") -> str:
    """Return a topic name that begins with the name of a test and that this process has not used before.

    `run` tells the names of this process from those of others.
    """
    allowed = re.sub(r"[^A-Za-z0-9._-]+", "-", test)
    return f"{allowed[:_LONGEST]}-{next(_numbers)}{run and '-'}{run}"
