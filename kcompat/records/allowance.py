"""Limits on the work on compressed data that a caller has time for."""

from __future__ import annotations

from contextvars import ContextVar, Token

from msgspec import Struct


class AllowanceSpent(Exception):  # noqa: N818 - says that there is more to do, not that anything is wrong
    """More would have to be unpacked or packed than the caller has time for."""


class Allowance(Struct):
    """Bytes that may be decompressed and compressed in a `with` block, by all calls together; those of a slow
    codec count more than once.

    Codecs find the allowance in a context variable. The functions between the block and the codecs let
    `AllowanceSpent` pass, and can be called again with the same batch.
    """

    left: int
    _before: Token[Allowance | None] | None = None

    def __enter__(self) -> None:
        self._before = _current.set(self)

    def __exit__(self, *_: object) -> None:
        assert self._before is not None
        _current.reset(self._before)

    def expect(self, cost: int) -> None:
        """Raise `AllowanceSpent` unless `cost` bytes are left."""
        if self.left < cost:
            raise AllowanceSpent

    def spend(self, cost: int) -> None:
        """Count what was done; raises `AllowanceSpent` when nothing is left for more."""
        self.left -= cost
        if self.left <= 0:
            raise AllowanceSpent


_current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)

current = _current.get
"""The allowance in which this is called, if any."""


def expect(cost: int) -> None:
    """Raise `AllowanceSpent` unless `cost` bytes are left to those who have an allowance at all."""
    allowance = current()
    if allowance is not None:
        allowance.expect(cost)


def take(cost: int) -> None:
    """Count what is about to be done; raises `AllowanceSpent` instead where less is left."""
    allowance = current()
    if allowance is not None:
        allowance.expect(cost)
        allowance.left -= cost
