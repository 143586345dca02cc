"""Upper and lower case of letters beyond ASCII."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def cases(character: str) -> set[str]:
    """Return a letter and its other cases."""
    found, todo = {character}, [character]
    while todo:
        each = todo.pop()
        others = {each.upper(), each.lower(), each.title()} - found
        new = {case for case in others if len(case) == 1}
        found |= new
        todo += new
    return found


class Cases:
    """Index of letters that have another case, which finds the class of those in a span in two steps.

    A pattern can have a thousand spans with all letters in each. So the classes of each 1, 2, 4 and so on
    neighbours are computed once; any span is covered by two of these, which may overlap.
    """

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Take pairs: the code of a case of a letter, and the class of that letter alone."""
        ordered = sorted(pairs)
        self._codes = [code for code, _ in ordered]
        self._of_neighbours = [[mask for _, mask in ordered]]
        width = 1
        while 2 * width <= len(ordered):
            before = self._of_neighbours[-1]
            joined = [left | right for left, right in zip(before, before[width:], strict=False)]
            self._of_neighbours.append(joined)
            width *= 2

    def those_in(self, low: int, high: int) -> int:
        """Return the class of the letters that have a case from `low` to `high`."""
        first, end = bisect_left(self._codes, low), bisect_left(self._codes, high + 1)
        if first >= end:
            return 0
        power = (end - first).bit_length() - 1
        masks = self._of_neighbours[power]
        return masks[first] | masks[end - (1 << power)]
