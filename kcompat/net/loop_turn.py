"""The end of a turn: what is done once the sockets that are ready have been served, before the loop goes on.

The event loop does what it is given in its next round, and a round takes as long as half a small request. So
what a request has set going leaves in the turn that served it: the answer to a fetch that waited for its
record, the answer to a produce that waited for a follower's fetch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.faults import contained

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

ROUNDS: Final = 3
"""Number of times that calls at the end of an iteration may add further ones.

Later ones wait for the loop's next round: calls that call for each other keep no socket waiting for longer.
"""


class LoopTurn:
    """The turn of an event loop. Whoever serves its sockets begins and ends it."""

    __slots__ = ("_answers", "_calls", "_is_on", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._is_on = False
        self._answers: list[Callable[[], object]] = []
        self._calls: list[Callable[[], object]] = []

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` at the end of this turn, or in the loop's next round where none is on. Calls run in
        order, and a fault in one is logged; from the loop's thread.
        """
        if self._is_on:
            self._calls.append(callback)
        else:
            self._loop.call_soon(callback)

    def answer_soon(self, callback: Callable[[], object]) -> None:
        """As `call_soon`, but no later than behind the call that is under way: a peer waits for what this
        sends, and works while the calls that are left are made.
        """
        if self._is_on:
            self._answers.append(callback)
        else:
            self._loop.call_soon(callback)

    def begin(self) -> None:
        """Collect calls until `end`."""
        self._is_on = True

    def end(self) -> None:
        """Run what was collected."""
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
    with contained("a call at the end of a turn"):
        callback()
