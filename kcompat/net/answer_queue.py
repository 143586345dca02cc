"""Answers of one connection that wait for the answers of earlier requests, in request order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kcompat.net.answers import CLOSE, Mode, Waiting
from kcompat.net.gate import BUSY, CROWDED, WAITING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.net.answers import Answer, Piece, Settled
    from kcompat.net.limits import Limits


class _Slot:
    """The place of one answer."""

    __slots__ = ("answer", "memory", "settled")

    def __init__(self) -> None:
        self.answer: Settled = None
        self.memory = 0
        self.settled = False


class AnswerQueue:
    """Queue of answers; exists only while an answer waits. `on_settled` is called when a later answer
    arrives.
    """

    __slots__ = ("_blocker", "_interrupt", "_is_dropped", "_mode", "_on_settled", "_slots", "memory")

    def __init__(self, on_settled: Callable[[], object]) -> None:
        self._slots: deque[_Slot] = deque()
        self._on_settled = on_settled
        self._blocker: _Slot | None = None
        self._mode = Mode.PIPELINED  # mode of the blocker
        self._interrupt: Callable[[], object] | None = None
        self.memory = 0
        """Bytes held by answers that wait for earlier ones; file ranges cost none."""
        self._is_dropped = False

    def __len__(self) -> int:
        return len(self._slots)

    def gate(self, limits: Limits) -> int:
        """Return the bits of a conversation's gate with which these answers hold back the next frames."""
        bits = 0
        if self._blocker is not None:
            bits = BUSY if self._mode is Mode.BUSY else WAITING
        if len(self._slots) >= limits.max_pipelined or self.memory >= limits.max_unsent:
            bits |= CROWDED
        return bits

    def wait_for(self, waiting: Waiting) -> None:
        """Queue a place for an answer that comes later."""
        assert self._blocker is None, "no frame is handed on behind a blocking one"
        slot = _Slot()
        self._slots.append(slot)
        self._follow(slot, waiting)

    def _follow(self, slot: _Slot, waiting: Waiting) -> None:
        if waiting.mode is not Mode.PIPELINED:
            self._blocker = slot
            self._mode = waiting.mode
            self._interrupt = waiting.interrupt
        waiting.promise.then(lambda answer: self._settle(slot, answer))

    def push(self, answer: Settled) -> None:
        """Queue a finished answer behind those that wait."""
        slot = _Slot()
        self._slots.append(slot)
        self._fill(slot, answer)

    def _settle(self, slot: _Slot, answer: Answer) -> None:
        if self._is_dropped:
            return
        if slot is self._blocker:
            self._blocker = self._interrupt = None
        if isinstance(answer, Waiting):
            self._follow(slot, answer)
        else:
            self._fill(slot, answer)
        self._on_settled()

    def _fill(self, slot: _Slot, answer: Settled) -> None:
        slot.answer = answer
        slot.settled = True
        slot.memory = _memory_of(answer)
        self.memory += slot.memory

    def pop_settled(self, pieces: list[Piece]) -> bool:
        """Move the answers that wait for no earlier one to `pieces`; return whether the connection must close
        next.
        """
        slots = self._slots
        while slots and slots[0].settled:
            slot = slots.popleft()
            self.memory -= slot.memory
            if slot.answer is CLOSE:
                return True
            if slot.answer is not None:
                pieces += slot.answer
        return False

    def interrupt(self) -> None:
        """End the wait of an interruptible answer, once."""
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            interrupt()

    def drop(self) -> None:
        """Ignore answers that still arrive, since the connection is closed; end the wait of an interruptible
        one.
        """
        self._is_dropped = True
        self.interrupt()


def _memory_of(answer: Settled) -> int:
    memory = 0
    if answer is not None and answer is not CLOSE:
        for piece in answer:
            if isinstance(piece, (bytes, bytearray, memoryview)):
                memory += len(piece)
    return memory
