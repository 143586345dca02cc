"""The parts of a pattern, with the size of the program that each becomes.

What matches nothing but the empty text, like `()` or `x{0}`, leaves no trace in what it is a part of. So each
part that has others is at least one instruction longer than they are, and to write out a program of n
instructions takes no more than about 2n steps, whatever the pattern looks like.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

MAX_SIZE = 5_000
"""Instructions of a program: a repetition is written out, so a short pattern can mean a long program."""

MAX_DEPTH = 200
"""Largest depth of nested parts of a pattern."""

UNLIMITED = -1


class PatternError(Exception):
    """An invalid pattern; the message is that of RE2/J."""


class Where(Enum):
    """Conditions on a place between two characters."""

    BEGIN = "begin"
    END = "end"
    WORD_EDGE = "word edge"
    NO_WORD_EDGE = "no word edge"


class Node(Struct, frozen=True):
    """Any part: its instructions, and how deep it nests."""

    size: int
    depth: int


class OneOf(Node, frozen=True):
    """A character of a class: bit n of `mask` stands for the character n of an alphabet."""

    mask: int


class At(Node, frozen=True):
    """A condition on the place."""

    where: Where


class Sequence(Node, frozen=True):
    """Parts one after the other."""

    parts: tuple[Node, ...]


class Choice(Node, frozen=True):
    """Any of the parts."""

    parts: tuple[Node, ...]


class Repeat(Node, frozen=True):
    """A part at least `least` and at most `most` times."""

    part: Node
    least: int
    most: int


NOTHING: Final = Sequence(0, 1, ())
"""Matches the empty text."""


def one_of(mask: int) -> OneOf:
    """A character of a class."""
    return OneOf(1, 1, mask)


def at(where: Where) -> At:
    """A condition on the place."""
    return At(1, 1, where)


def sequence(all_parts: list[Node]) -> Node:
    """Parts one after the other."""
    parts = [part for part in all_parts if part.size]
    if not parts:
        return NOTHING
    return parts[0] if len(parts) == 1 else _checked(Sequence(_total(parts), _below(parts), tuple(parts)))


def choice(parts: list[Node]) -> Node:
    """Any of the parts."""
    if len(parts) == 1:
        return parts[0]
    return _checked(Choice(_total(parts) + len(parts) - 1, _below(parts), tuple(parts)))


def repeat(part: Node, least: int, most: int) -> Node:
    """A part some times."""
    if most == 0 or not part.size:
        return NOTHING
    if least == most == 1:
        return part
    copies = max(least, 1) if most == UNLIMITED else most
    splits = 1 if most == UNLIMITED else most - least
    return _checked(Repeat(part.size * copies + splits, part.depth + 1, part, least, most))


def _total(parts: list[Node]) -> int:
    return sum(part.size for part in parts)


def _below(parts: list[Node]) -> int:
    return 1 + max((part.depth for part in parts), default=0)


def _checked(node: Node) -> Node:
    if node.size > MAX_SIZE:
        raise PatternError("expression too large")
    if node.depth > MAX_DEPTH:
        raise PatternError("expression nests too deeply")
    return node
