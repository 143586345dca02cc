"""A value that comes later, without an event loop.

Pure state machines answer some requests later (a join waits for its group, a produce for the ISR). They hand
out a `Promise` and complete it when an event settles it; callbacks run at once, in order, on the caller's
stack, so tests need no event loop.

Outcomes that the protocol names are values, error codes included. A promise fails with an exception if a bug
or an IO error keeps the value from coming. An exception raised by a callback goes to the `failed` of that
callback, or is logged; the other callbacks run, and the code that completes the promise never sees it.
"""

from __future__ import annotations

import logging
from traceback import format_exception
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
R = TypeVar("R")

logger = logging.getLogger(__name__)


class Promise(Generic[T]):
    """One value or one failure, set once."""

    __slots__ = ("_outcome", "_waiting", "done")

    def __init__(self) -> None:
        self.done = False
        """Whether the promise has a value or a failure."""
        self._outcome: T | _Failure
        self._waiting: list[tuple[Callable[[T], object], Callable[[Exception], object] | None]] | None = None

    @classmethod
    def resolved(cls, value: T) -> Promise[T]:
        """Return a promise that already has its value."""
        promise = cls()
        promise.done = True
        promise._outcome = value
        return promise

    @property
    def value(self) -> T:
        """The value; raises the exception if the promise failed. Must not be read before `done`."""
        assert self.done, "the promise has no value yet"
        outcome = self._outcome
        if isinstance(outcome, _Failure):
            raise outcome.take()
        return outcome

    def complete(self, value: T) -> bool:
        """Set the value and run the callbacks; return False, and change nothing, if the promise is done
        already.
        """
        if self.done:
            return False
        self.done = True
        self._outcome = value
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            for callback, failed in waiting:
                try:
                    callback(value)
                except Exception as error:
                    _report(error, failed)
        return True

    def fail(self, error: Exception) -> bool:
        """Set a failure and run the `failed` callbacks; return False, and change nothing, if the promise is
        done already.

        A failure that no callback takes is logged when the promise is garbage-collected.
        """
        if self.done:
            return False
        self.done = True
        self._outcome = failure = _Failure(error)
        waiting, self._waiting = self._waiting, None
        for _, failed in waiting or ():
            if failed is not None:
                _report(failure.take(), failed)
        failure.prepare()
        return True

    def then(
        self, callback: Callable[[T], object], failed: Callable[[Exception], object] | None = None
    ) -> None:
        """Call `callback(value)` when the value is there, at once if it already is.

        `failed(error)` is called instead when the promise fails, and also if `callback` raises.
        """
        if not self.done:
            if self._waiting is None:
                self._waiting = [(callback, failed)]
            else:
                self._waiting.append((callback, failed))
            return
        outcome = self._outcome
        if isinstance(outcome, _Failure):
            if failed is not None:
                _report(outcome.take(), failed)
            return
        try:
            callback(outcome)
        except Exception as error:
            _report(error, failed)

    def map(self, function: Callable[[T], R]) -> Promise[R]:
        """Return a promise of `function(value)`. The new promise fails if `function` raises or this one
        fails.
        """
        mapped: Promise[R] = Promise()
        if not self.done:
            self.then(lambda value: mapped.complete(function(value)), mapped.fail)
            return mapped
        try:
            mapped._outcome = function(self.value)
        except Exception as error:
            mapped.fail(error)
        else:
            mapped.done = True
        return mapped

    def flat_map(self, function: Callable[[T], Promise[R]]) -> Promise[R]:
        """Return the promise that `function(value)` returns, as `map` does for plain values.

        Not for loops: if each result waits for a further `flat_map`, the stack grows with each one.
        """
        flat: Promise[R] = Promise()
        if self.done:
            try:
                return function(self.value)
            except Exception as error:
                flat.fail(error)
                return flat
        self.then(lambda value: function(value).then(flat.complete, flat.fail), flat.fail)
        return flat


class _Failure:
    """The exception that a promise failed with, and whether a callback has received it."""

    __slots__ = ("_error", "_is_taken", "_text")

    def __init__(self, error: Exception) -> None:
        self._error = error
        self._is_taken = False
        self._text = ""

    def take(self) -> Exception:
        """Return the exception to a caller that handles it, so that it is not logged."""
        self._is_taken = True
        return self._error

    def prepare(self) -> None:
        """Format the message to log if no callback takes the failure. `__del__` must not do that: it may run
        while another traceback is formatted, and Python's parser, which takes part in that, is not reentrant.
        """
        if not self._is_taken:
            self._text = "".join(format_exception(self._error))

    def __del__(self) -> None:
        if not self._is_taken and logger.isEnabledFor(logging.ERROR):
            text = "The failure of a promise was never handled"
            record = logger.makeRecord(logger.name, logging.ERROR, __file__, 0, text, (), None)
            record.exc_text = self._text.rstrip("\n")
            logger.handle(record)


def _report(error: Exception, failed: Callable[[Exception], object] | None) -> None:
    if failed is None:
        logger.error("A callback of a promise failed", exc_info=error)
        return
    try:
        failed(error)
    except Exception:
        logger.exception("A callback for a failure failed as well")


def gather(promises: Sequence[Promise[T]]) -> Promise[list[T]]:
    """Return a promise of all values, in order, once the last is there; it fails with the first failure."""
    gathered: Promise[list[T]] = Promise()
    missing = len(promises)
    if not missing:
        gathered.complete([])
        return gathered

    def arrived(_: T) -> None:
        nonlocal missing
        missing -= 1
        if not missing:
            gathered.complete([promise.value for promise in promises])

    for promise in promises:
        promise.then(arrived, gathered.fail)
    return gathered
