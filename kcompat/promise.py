"""A value that comes later, without a loop.

Pure state machines answer some requests later (a join waits for its group, a produce for the ISR). They hand
out a `Promise` and complete it from whatever event settles it; callbacks run at once, in order, on the
caller's stack, so a test needs no event loop to follow one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Promise(Generic[T]):
    """One value, set once. Outcomes are values (error codes included); a promise never fails."""

    __slots__ = ("_callbacks", "_value", "done")

    def __init__(self) -> None:
        self.done = False
        self._value: T
        self._callbacks: list[Callable[[T], object]] | None = None

    @classmethod
    def resolved(cls, value: T) -> Promise[T]:
        """A promise that already has its value."""
        promise = cls()
        promise.complete(value)
        return promise

    @property
    def value(self) -> T:
        """The value; asking before `done` is a bug of the caller."""
        assert self.done, "the promise has no value yet"
        return self._value

    def complete(self, value: T) -> bool:
        """Set the value and run the callbacks. Later calls change nothing and return False."""
        if self.done:
            return False
        self.done = True
        self._value = value
        callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            callback(value)
        return True

    def then(self, callback: Callable[[T], object]) -> None:
        """Call `callback(value)` when the value is there, or now if it already is."""
        if self.done:
            callback(self._value)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)
