"""Calls at the end of an iteration of the event loop, once all ready sockets have been served.

`loop.call_soon` runs a callback in the next iteration, and an iteration takes as long as half a small
request. So the answers that a request causes leave in the iteration that served it: the answer to a fetch
that waited for its record, the answer to a produce that waited for a follower's fetch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.faults import contained

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

ROUNDS: Final = 3
"""Number of times that calls at the end of an iteration may add further ones.

Later ones wait for the next iteration: calls that add each other keep no socket waiting for longer.
"""


class LoopIteration:
    """The current iteration of an event loop; the poller of its sockets begins and ends it."""

    __slots__ = ("_answers", "_calls", "_is_on", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._is_on = False
        self._answers: list[Callable[[], object]] = []
        self._calls: list[Callable[[], object]] = []

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` at the end of this iteration, or of the next if no poll is under way.

        Calls run in order, and a fault in one is logged. Call this from the loop's thread.
        """
        if self._is_on:
            self._calls.append(callback)
        else:
            self._loop.call_soon(callback)

    def answer_soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` as `call_soon` does, but right after the call that is under way.

        The peer that waits for this answer then works while the remaining calls are made.
        """
        if self._is_on:
            self._answers.append(callback)
        else:
            self._loop.call_soon(callback)

    def begin(self) -> None:
        """Collect calls until `end`."""
        self._is_on = True

    def end(self) -> None:
        """Run the collected calls."""
        for _ in range(ROUNDS):
            if not self._answers and not self._calls:
                break
            self._answer()
            calls, self._calls = self._calls, []
            for callback in calls:
                _run(callback)
                if self._answers:
                    self._answer()
        else:
            for callback in self._answers + self._calls:
                self._loop.call_soon(callback)
            self._answers.clear()
            self._calls.clear()
        self._is_on = False

    def _answer(self) -> None:
        answers, self._answers = self._answers, []
        for callback in answers:
            _run(callback)


def _run(callback: Callable[[], object]) -> None:
    with contained("a call at the end of an iteration"):
        callback()
