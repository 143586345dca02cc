"""Bounds within which a group may set a number for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

INT_MAX = 2**31 - 1

Bounds = tuple[int, int]


def bounds(get: Callable[[str], Any], kind: str, name: str) -> Bounds:
    """Those that a broker sets for a kind of groups, by Kafka's names."""
    return get(f"group.{kind}.min.{name}"), get(f"group.{kind}.max.{name}")


def own_numbers(own: Mapping[str, str], limits: Iterable[tuple[str, str, Bounds]]) -> dict[str, int]:
    """The numbers that a group has set, each brought within bounds that are younger, by the fields they are
    for. `limits` are the names of keys, their fields and their bounds.
    """
    return {
        field: min(max(int(own[name]), least), most) for name, field, (least, most) in limits if name in own
    }
