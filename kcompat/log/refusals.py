"""Refusals of batches of idempotent producers for temporary reasons, and of the batches behind them.

A producer has several batches in flight. Suppose the first is refused for a temporary reason, for instance
before the broker learns of its election, and the reason is gone when the next arrives. Kafka's broker refuses
the next batch with OUT_OF_ORDER_SEQUENCE_NUMBER, for the gap before it. After that error librdkafka begins
another producer epoch, in which it sends unacknowledged records again that may be in a log already.

Here the batches behind a refused one are refused with the same error: the producer sends all of them again,
in order and in the same epoch. Each batch is refused like that only once. If a batch comes again and the one
before it does not, the answer is OUT_OF_ORDER_SEQUENCE_NUMBER, as the earlier batch is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.records.batch import BatchHeader

MOST_RUNS: Final = 1000
"""Number of producers whose refused batches one log remembers; at more, all are forgotten."""


class _Run(msgspec.Struct):
    """Consecutive refused batches of one producer, in the order of their sequences."""

    producer_epoch: int
    first_sequence: int
    last_sequence: int
    error: ErrorCode


class Refusals:
    """The last run of refused batches of each producer of one log."""

    __slots__ = ("runs",)

    def __init__(self) -> None:
        self.runs: dict[int, _Run] = {}
        """Run of each producer by its id; empty where no batch was refused lately."""

    def note(self, header: BatchHeader, error: ErrorCode) -> ErrorCode:
        """Remember that a batch is refused with `error`, after which its producer sends it again; return
        `error`.

        A batch without sequences is not remembered, as it leaves no gap.
        """
        if header.base_sequence < 0:
            return error
        run = self.runs.get(header.producer_id)
        if run is not None and run.producer_epoch == header.producer_epoch and _follows(header, run):
            run.last_sequence, run.error = header.last_sequence, error
        else:
            if run is None and len(self.runs) >= MOST_RUNS:
                self.runs.clear()
            self.runs[header.producer_id] = _Run(
                header.producer_epoch, header.base_sequence, header.last_sequence, error
            )
        return error

    def reason(self, header: BatchHeader, expected: int | None) -> ErrorCode:
        """Return the error for a batch that follows a refused one; NONE if no refused batch is missing before
        it.

        `expected` is the next sequence of the producer, None if the log knows no batch of it.
        """
        run = self.runs.get(header.producer_id)
        if run is None or run.producer_epoch != header.producer_epoch or not _follows(header, run):
            return ErrorCode.NONE
        if expected is not None and not run.first_sequence <= expected <= run.last_sequence:
            return ErrorCode.NONE
        run.last_sequence = header.last_sequence
        return run.error

    def forget(self, producer_id: int) -> None:
        """Forget the refused batches of a producer, after a batch of it was appended."""
        self.runs.pop(producer_id, None)

    def forget_all(self) -> None:
        """Forget all refused batches; called when batches in flight behind them have arrived long since."""
        self.runs.clear()


def _follows(header: BatchHeader, run: _Run) -> bool:
    return header.base_sequence > run.last_sequence
