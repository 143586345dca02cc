"""Finding the names that patterns match, in small pieces of work.

Each member of a group may have its own pattern: a piece compiles no more of them than its time allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.regex.classes import END
from kcompat.regex.nodes import PatternError
from kcompat.regex.pattern import compiled

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from kcompat.regex.pattern import Pattern, Place

MAX_BEYOND_ASCII = 256
"""Maximum number of characters beyond ASCII in the alphabet of a pattern: with more, its classes cost more.
"""

STEPS_TO_COMPILE = 10
"""Cost, in steps of matching, of compiling one character of a pattern, and of one instruction of its program.
"""


class Scan:
    """Comparison of names with each of some patterns. An invalid pattern matches none."""

    def __init__(self, texts: Iterable[str], names: Sequence[str]) -> None:
        self.found: dict[str, list[str]] = {text: [] for text in texts}
        """The names that each pattern matches, complete once `run` has returned True."""
        self._work = self._compare_all(names)

    def run(self, steps: int) -> bool:
        """Continue for about `steps` steps of some 100 ns; return whether every name was compared."""
        for cost in self._work:
            steps -= cost
            if steps <= 0:
                return False
        return True

    def _compare_all(self, names: Sequence[str]) -> Iterator[int]:
        batches: list[_Batch] = []
        yield from _sort_out(names, batches)
        for text, found in self.found.items():
            for batch in batches:
                if len(batch.beyond) <= MAX_BEYOND_ASCII:
                    yield from _compare(text, batch, found)
                else:
                    yield from _compare_in_pieces(text, batch.names[0], found)


class _Batch:
    """Names and all their characters beyond ASCII: at most `MAX_BEYOND_ASCII`, or those of a single name."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.beyond: set[str] = set()

    def has_room_for(self, beyond: set[str]) -> bool:
        """Return whether a name with these characters beyond ASCII fits into the batch."""
        together = self.beyond | beyond if beyond else self.beyond
        return len(together) <= MAX_BEYOND_ASCII


def _sort_out(names: Sequence[str], batches: list[_Batch]) -> Iterator[int]:
    """Sort the names into batches; yield the cost of each name in steps."""
    for name in names:
        own = _beyond_ascii(name)
        if not batches or not batches[-1].has_room_for(own):
            batches.append(_Batch())
        batches[-1].names.append(name)
        batches[-1].beyond |= own
        yield 2 if name.isascii() else 2 + len(name)


def _beyond_ascii(text: str) -> set[str]:
    return set() if text.isascii() else {each for each in text if not each.isascii()}


def _compare(text: str, batch: _Batch, found: list[str]) -> Iterator[int]:
    """Add the names that a pattern matches to `found`; yield the cost in steps of each piece of the work."""
    try:
        pattern = compiled(text, "".join(sorted(batch.beyond)))
    except PatternError:
        return
    yield _cost_to_compile(pattern, text)
    for name in batch.names:
        outcome = yield from _follow(pattern, pattern.start, (*pattern.alphabet.codes(name), END))
        if outcome is True:
            found.append(name)


def _compare_in_pieces(text: str, name: str, found: list[str]) -> Iterator[int]:
    """Compare one name that has too many characters beyond ASCII for one alphabet, piece by piece.

    The pattern is compiled anew for the characters of each piece. The state of the match carries over,
    because the alphabet does not change the numbers of instructions. Yields the cost in steps of each piece.
    """
    place: Place | None = None
    for at in range(0, len(name), MAX_BEYOND_ASCII):
        piece = name[at : at + MAX_BEYOND_ASCII]
        try:
            pattern = compiled(text, "".join(sorted(_beyond_ascii(piece))))
        except PatternError:
            return
        yield _cost_to_compile(pattern, text)
        codes = pattern.alphabet.codes(piece)
        is_last = at + MAX_BEYOND_ASCII >= len(name)
        outcome = yield from _follow(pattern, place or pattern.start, (*codes, END) if is_last else codes)
        if isinstance(outcome, bool):
            if outcome:
                found.append(name)
            return
        place = outcome


def _cost_to_compile(pattern: Pattern, text: str) -> int:
    return STEPS_TO_COMPILE * (len(text) + pattern.size)


def _follow(pattern: Pattern, place: Place, codes: Iterable[int]) -> Generator[int, None, Place | bool]:
    """Follow the pattern over these characters; yield the cost of each piece of work.

    Returns the result of the last `Pattern.step`.
    """
    cost = 1
    for code in codes:
        outcome, step = pattern.step(place, code)
        cost += step
        if step > 1:
            yield cost
            cost = 0
        if isinstance(outcome, bool):
            yield cost
            return outcome
        place = outcome
    yield cost
    return place
