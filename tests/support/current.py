"""A read of an attribute that mypy does not remember."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def current(value: T) -> T:
    """Return `value` unchanged.

    After `assert not thing.is_ready` mypy takes `thing.is_ready` for False, whatever is called next, and so
    what follows a later `assert thing.is_ready` for unreachable. It does not after
    `assert not current(thing.is_ready)`.
    """
    return value
