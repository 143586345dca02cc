"""Bounds within which a group may set a number for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

INT_MAX = 2**31 - 1

Bounds = tuple[int, int]


def bounds(get: Callable[[str], Any], kind: str, name: str) -> Bounds:
    """Those that a broker sets for a kind of groups, by Kafka's names."""
    return get(f"group.{kind}.min.{name}"), get(f"group.{kind}.max.{name}")


def within(text: str, limits: Bounds) -> int:
    """The number that a group has set, brought within bounds that are younger."""
    least, most = limits
    return min(max(int(text), least), most)
