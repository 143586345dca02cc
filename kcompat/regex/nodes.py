"""The parts of a pattern, with the sizes of their compiled programs.

Parts that match only the empty text, like `()` or `x{0}`, are removed from the part that contains them. So
each compound part is at least one instruction longer than its parts together, and compiling a program of n
instructions takes at most about 2n steps for any pattern.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

MAX_SIZE = 5_000
"""Maximum number of instructions of a program: repetitions are expanded, so a short pattern can mean a long
program.
"""

MAX_DEPTH = 200
"""Maximum number of levels of nested parts in a pattern."""

UNLIMITED = -1


class PatternError(Exception):
    """The pattern is invalid; the message is that of RE2/J."""


class Where(Enum):
    """Conditions on a position between two characters."""

    BEGIN = "begin"
    END = "end"
    WORD_EDGE = "word edge"
    NO_WORD_EDGE = "no word edge"


class RegexNode(Struct, frozen=True):
    """A part of a pattern: its number of instructions, and its nesting depth."""

    size: int
    depth: int


class CharacterClass(RegexNode, frozen=True):
    """One character of a class: bit n of `mask` stands for the character with code n."""

    mask: int


class PositionCondition(RegexNode, frozen=True):
    """A condition on the position."""

    where: Where


class Sequence(RegexNode, frozen=True):
    """Parts one after another."""

    parts: tuple[RegexNode, ...]


class Choice(RegexNode, frozen=True):
    """Alternative parts, of which one matches."""

    parts: tuple[RegexNode, ...]


class Repeat(RegexNode, frozen=True):
    """A part that is repeated at least `least` and at most `most` times."""

    part: RegexNode
    least: int
    most: int


NOTHING: Final = Sequence(0, 1, ())
"""Part that matches the empty text."""


def one_of(mask: int) -> CharacterClass:
    """Return a part that matches one character of a class."""
    return CharacterClass(1, 1, mask)


def at(where: Where) -> PositionCondition:
    """Return a part that tests a condition on the position."""
    return PositionCondition(1, 1, where)


def sequence(all_parts: list[RegexNode]) -> RegexNode:
    """Return a part that matches these parts one after another."""
    parts = [part for part in all_parts if part.size]
    if not parts:
        return NOTHING
    return parts[0] if len(parts) == 1 else _checked(Sequence(_total(parts), _below(parts), tuple(parts)))


def choice(parts: list[RegexNode]) -> RegexNode:
    """Return a part that matches any of these parts."""
    if len(parts) == 1:
        return parts[0]
    return _checked(Choice(_total(parts) + len(parts) - 1, _below(parts), tuple(parts)))


def repeat(part: RegexNode, least: int, most: int) -> RegexNode:
    """Return a part that matches `part` between `least` and `most` times."""
    if most == 0 or not part.size:
        return NOTHING
    if least == most == 1:
        return part
    copies = max(least, 1) if most == UNLIMITED else most
    splits = 1 if most == UNLIMITED else most - least
    return _checked(Repeat(part.size * copies + splits, part.depth + 1, part, least, most))


def _total(parts: list[RegexNode]) -> int:
    return sum(part.size for part in parts)


def _below(parts: list[RegexNode]) -> int:
    return 1 + max((part.depth for part in parts), default=0)


def _checked(node: RegexNode) -> RegexNode:
    if node.size > MAX_SIZE:
        raise PatternError("expression too large")
    if node.depth > MAX_DEPTH:
        raise PatternError("expression nests too deeply")
    return node
