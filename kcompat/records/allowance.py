"""How much work on compressed data its caller has time for."""

from __future__ import annotations

from contextvars import ContextVar


class AllowanceSpent(Exception):  # noqa: N818 - says that there is more to do, not that anything is wrong
    """More would have to be unpacked or packed than the caller has time for."""


class Allowance:
    """How many bytes may be unpacked and packed in `with` it, all calls together; those of a slow codec count
    more than once.

    Who has no time for more says so here, and not to each function between: they all just let the
    `AllowanceSpent` pass. They can be called again with the same batch.
    """

    __slots__ = ("_before", "left")

    def __init__(self, size: int) -> None:
        self.left = size

    def __enter__(self) -> None:
        self._before = _current.set(self)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._before)


_current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


def expect(cost: int) -> None:
    """Raise `AllowanceSpent` unless `cost` bytes are left to those who have an allowance at all."""
    allowance = _current.get()
    if allowance is not None and allowance.left < cost:
        raise AllowanceSpent


def spend(cost: int) -> None:
    """Count what was done; raises `AllowanceSpent` when nothing is left for more."""
    allowance = _current.get()
    if allowance is not None:
        allowance.left -= cost
        if allowance.left <= 0:
            raise AllowanceSpent
