"""Limits on the work on compressed data in one call."""

from __future__ import annotations

from contextvars import ContextVar, Token

from msgspec import Struct


class AllowanceSpent(Exception):  # noqa: N818 - says that there is more to do, not that anything is wrong
    """The remaining work exceeds the allowance of the caller."""


class Allowance(Struct):
    """Bytes that all calls in a `with` block together may decompress and compress.

    Bytes of a slow codec count more than once. Codecs find the allowance in a context variable. The functions
    between the block and the codecs let `AllowanceSpent` pass, and can be called again with the same batch.
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
        """Subtract the cost of finished work. Raises `AllowanceSpent` if nothing is left for more."""
        self.left -= cost
        if self.left <= 0:
            raise AllowanceSpent


_current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)

current = _current.get
"""Function that returns the allowance of the surrounding block, or None."""


def expect(cost: int) -> None:
    """Raise `AllowanceSpent` if there is an allowance and less than `cost` bytes of it are left."""
    allowance = current()
    if allowance is not None:
        allowance.expect(cost)


def take(cost: int) -> None:
    """Subtract the cost of work about to be done. Raises `AllowanceSpent` instead if less is left."""
    allowance = current()
    if allowance is not None:
        allowance.expect(cost)
        allowance.left -= cost
