"""Patterns compiled into programs, which are run over a text character by character.

All states of the program that are reachable at a position are followed together. Each set of states is cached
with its successors, so that a name costs about one look-up per character.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kcompat.regex.classes import ASCII, END, PERL, Alphabet
from kcompat.regex.nodes import (
    UNLIMITED,
    CharacterClass,
    Choice,
    PatternError,
    PositionCondition,
    Repeat,
    Sequence,
    Where,
)
from kcompat.regex.parser import parse

if TYPE_CHECKING:
    from kcompat.regex.nodes import RegexNode

MAX_REMEMBERED = 100_000
"""Maximum number of states in all cached sets; at more, the cache is emptied."""

REMEMBERED = 32
"""Number of compiled patterns that are cached: a pattern is compiled when a member brings it, and looked up
again whenever topics change.
"""

Place = tuple[frozenset[int], int | None]
"""The reachable states before the next character of a text, and the previous character's code, if any."""


class Pattern:
    """A compiled pattern. Reaching instruction 0 means that the text matches."""

    def __init__(self, root: RegexNode, alphabet: Alphabet = ASCII) -> None:
        self.alphabet = alphabet
        self._masks: list[int] = [0]
        self._wheres: list[Where | None] = [None]
        self._next: list[tuple[int, ...]] = [()]
        self._remembered: dict[tuple[Place, int], tuple[Place | bool, int]] = {}
        self._weight = 0
        self.start: Place = (frozenset((self._emit(root, 0),)), None)

    @property
    def size(self) -> int:
        """Number of instructions of the program."""
        return len(self._next)

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches."""
        place: Place | bool = self.start
        for code in (*self.alphabet.codes(text), END):
            if isinstance(place, bool):
                return place
            place, _ = self.step(place, code)
        return place is True

    def step(self, place: Place, code: int) -> tuple[Place | bool, int]:
        """Return the place after the next character: False if no state is left; after `END`, whether the text
        matches.

        The second value is the cost of the step in instructions.
        """
        key = (place, code)
        known = self._remembered.get(key)
        if known is not None:
            return known[0], 1
        outcome, cost = self._find(place, code)
        weight = 1 if isinstance(outcome, bool) else 1 + len(outcome[0])
        self._weight += weight
        if self._weight > MAX_REMEMBERED:
            self._remembered.clear()
            self._weight = weight
        self._remembered[key] = (outcome, cost)
        return outcome, cost

    def _find(self, place: Place, code: int) -> tuple[Place | bool, int]:
        states, before = place
        seen = set(states)
        todo = list(states)
        reached: set[int] = set()
        while todo:
            state = todo.pop()
            if state == 0:
                if code == END:
                    return True, len(seen)
                continue
            mask, where = self._masks[state], self._wheres[state]
            if mask:
                if code != END and mask >> code & 1:
                    reached.update(self._next[state])
                continue
            if where is not None and not _holds(where, before, code):
                continue
            for follower in self._next[state]:
                if follower not in seen:
                    seen.add(follower)
                    todo.append(follower)
        return ((frozenset(reached), code) if reached else False), len(seen) + 1

    # --- compiling

    def _emit(self, node: RegexNode, then: int) -> int:
        """Compile a part that continues with `then`; return its first instruction."""
        match node:
            case CharacterClass(mask=mask):
                # A class without any character never matches; a mask of 0 would mean a jump.
                return self._add(mask, None, (then,)) if mask else self._add(0, None, ())
            case PositionCondition(where=where):
                return self._add(0, where, (then,))
            case Sequence(parts=parts):
                for part in reversed(parts):
                    then = self._emit(part, then)
                return then
            case Choice(parts=parts):
                return self._add(0, None, tuple({self._emit(part, then): None for part in parts}))
            case Repeat(part=part, least=least, most=most):
                return self._emit_repeat(part, least, most, then)
            case _:
                raise AssertionError(node)

    def _emit_repeat(self, part: RegexNode, least: int, most: int, then: int) -> int:
        if most == UNLIMITED:
            loop = self._add(0, None, ())
            self._next[loop] = (self._emit(part, loop), then)
            then = loop
        else:
            end = then
            for _ in range(most - least):
                then = self._add(0, None, (self._emit(part, then), end))
        for _ in range(least):
            then = self._emit(part, then)
        return then

    def _add(self, mask: int, where: Where | None, followers: tuple[int, ...]) -> int:
        self._masks.append(mask)
        self._wheres.append(where)
        self._next.append(followers)
        return len(self._next) - 1


def _holds(where: Where, before: int | None, after: int) -> bool:
    match where:
        case Where.BEGIN:
            return before is None
        case Where.END:
            return after == END
        case _:
            edge = _is_word(before) != _is_word(after)
            return edge is (where is Where.WORD_EDGE)


def _is_word(code: int | None) -> bool:
    return code is not None and code != END and bool(PERL["w"] >> code & 1)


@lru_cache(REMEMBERED)
def compiled(text: str, beyond_ascii: str = "") -> Pattern:
    """Return the compiled pattern for texts of ASCII and the characters of `beyond_ascii`.

    Raises:
        PatternError: RE2/J refuses the pattern.
    """
    alphabet = Alphabet(beyond_ascii) if beyond_ascii else ASCII
    return Pattern(parse(text, alphabet), alphabet)


def problem(text: str) -> str | None:
    """Return RE2/J's reason why a pattern cannot be compiled; None for a valid pattern."""
    try:
        compiled(text)
    except PatternError as error:
        return str(error)
    return None
