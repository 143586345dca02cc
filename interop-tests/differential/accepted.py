"""What differs from Kafka 3.9.2 on purpose: the only differences that the test lets pass."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from differential.compare import Difference


@dataclass(frozen=True)
class Accepted:
    """Fields of one scenario that may differ, by a pattern of their path; `why` is a heading of the page
    `docs/explanation/differences.md`. Each pattern must be met: an entry without a difference is stale.
    """

    scenario: str
    path: str
    why: str
    since: int = 0
    until: int = 99


ACCEPTED: tuple[Accepted, ...] = ()


def unexplained(scenario: str, version: int, found: Sequence[Difference]) -> tuple[list[str], list[str]]:
    """The differences that no entry covers, and the entries that cover none."""
    entries = [
        entry for entry in ACCEPTED if entry.scenario == scenario and entry.since <= version <= entry.until
    ]
    left = [str(item) for item in found if not any(re.search(entry.path, item.path) for entry in entries)]
    stale = [entry.path for entry in entries if not any(re.search(entry.path, item.path) for item in found)]
    return left, stale
