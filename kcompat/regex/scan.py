"""Finding the names that patterns match, a piece at a time. A group's members may have a pattern each: a
piece compiles no more of them than it has time for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.regex.classes import END
from kcompat.regex.errors import PatternError
from kcompat.regex.pattern import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_BEYOND_ASCII = 256
"""Characters beyond ASCII that a pattern is compiled for at once: with more, its classes cost more."""

STEPS_TO_COMPILE = 10
"""What a character of a pattern costs, and an instruction of its program."""


class Scan:
    """Patterns, and names that are compared with each of them. An invalid pattern matches none."""

    def __init__(self, texts: Iterable[str], names: Sequence[str]) -> None:
        self.found: dict[str, list[str]] = {text: [] for text in texts}
        """The names that each pattern matches, complete once `run` has said so."""
        self._work = self._compare_all(names)

    def run(self, steps: int) -> bool:
        """Go on for about so many steps, each of some 100 ns; whether everything has been compared."""
        for cost in self._work:
            steps -= cost
            if steps <= 0:
                return False
        return True

    def _compare_all(self, names: Sequence[str]) -> Iterator[int]:
        batches = list(_batches(names))
        for text, found in self.found.items():
            for beyond_ascii, batch in batches:
                yield from _compare(text, beyond_ascii, batch, found)


def _compare(text: str, beyond_ascii: str, names: Sequence[str], found: list[str]) -> Iterator[int]:
    """Add the names that a pattern matches to those found; what each piece of that costs."""
    try:
        pattern = compiled(text, beyond_ascii)
    except PatternError:
        return
    yield STEPS_TO_COMPILE * (len(text) + pattern.size)
    for name in names:
        place, cost = pattern.start, 1
        for code in (*pattern.alphabet.codes(name), END):
            outcome, step = pattern.step(place, code)
            cost += step
            if step > 1:
                yield cost
                cost = 0
            if isinstance(outcome, bool):
                if outcome:
                    found.append(name)
                break
            place = outcome
        yield cost


def _batches(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The names in batches, each with its characters beyond ASCII: just a few, or those of one name."""
    batch: list[str] = []
    beyond: set[str] = set()
    for name in names:
        own = set() if name.isascii() else {each for each in name if not each.isascii()}
        if batch and own and len(beyond | own) > MAX_BEYOND_ASCII:
            yield "".join(sorted(beyond)), batch
            batch, beyond = [], set()
        batch.append(name)
        beyond |= own
    yield "".join(sorted(beyond)), batch
