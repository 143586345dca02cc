"""Answers that a fault holds back, and gives when the fault ends at the latest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.net.answers import Waiting
from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.net.answers import Answer, Connection, Mode


class HeldAnswers:
    """The answers that one fault holds back, each until `release`, or until its connection closes."""

    def __init__(self) -> None:
        self._held: dict[Promise[Answer], Callable[[], Answer]] = {}

    def hold(self, connection: Connection, mode: Mode, make: Callable[[], Answer], size: int = 0) -> Waiting:
        """Return an answer that comes later: `make` makes it. `size` is that of a frame kept for it."""
        promise: Promise[Answer] = Promise()
        self._held[promise] = make
        connection.when_closed(lambda: self._held.pop(promise, None))
        return Waiting(promise, mode, holds=size)

    def release(self, waiting: Waiting) -> None:
        """Give an answer now; nothing happens if it was given, or if its connection has closed."""
        make = self._held.pop(waiting.promise, None)
        if make is not None:
            waiting.promise.complete(make())

    def release_all(self) -> None:
        """Give all answers now."""
        while self._held:
            promise = next(iter(self._held))
            promise.complete(self._held.pop(promise)())
