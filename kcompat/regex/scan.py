"""Finding the names that patterns match, a piece at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.regex.classes import END

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kcompat.regex.program import Pattern


class Scan:
    """Patterns by their texts, and names that are compared with each of them. The patterns have been compiled
    for the characters of the names.
    """

    def __init__(self, patterns: Mapping[str, Pattern], names: Sequence[str]) -> None:
        self.found: dict[str, list[str]] = {text: [] for text in patterns}
        """The names that each pattern matches, complete once `run` has said so."""
        self._work = self._compare_all(patterns, names)

    def run(self, steps: int) -> bool:
        """Go on for about so many steps, each of some 100 ns; whether everything has been compared."""
        for cost in self._work:
            steps -= cost
            if steps <= 0:
                return False
        return True

    def _compare_all(self, patterns: Mapping[str, Pattern], names: Sequence[str]) -> Iterator[int]:
        for text, pattern in patterns.items():
            found = self.found[text]
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
