"""Calls at the end of an iteration of the event loop, once all ready sockets have been served.

`loop.call_soon` runs a callback in the next iteration, and an iteration takes as long as half a small
request. A `LoopIteration` runs callbacks in the iteration that served the request. So the responses that the
request causes leave in this iteration: to a fetch that waited for the record, or to a produce that waited for
a follower's fetch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.faults import contained

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

ROUNDS: Final = 3
"""Maximum number of rounds of calls at the end of an iteration; each round runs the calls that the round
before added.

Calls of later rounds wait for the next iteration, so that calls that add calls do not delay ready sockets.
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
        """Run `callback`, which sends a response, right after the current call and before all other calls.

        The peer that waits for the response then works while the remaining calls run.
        """
        if self._is_on:
            self._answers.append(callback)
        else:
            self._loop.call_soon(callback)

    def begin(self) -> None:
        """Begin an iteration: collect calls until `end`."""
        self._is_on = True

    def end(self) -> None:
        """End the iteration: run the collected calls."""
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
