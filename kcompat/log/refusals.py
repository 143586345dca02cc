"""Batches of idempotent producers that were refused for a reason that passes, and the batches behind them.

A producer has several batches under way. Where the first is refused for a reason that passes, as before an
election is heard of, and the reason is gone when the next arrives, a broker of Kafka refuses the next for the
gap before it (OUT_OF_ORDER_SEQUENCE_NUMBER). After that error librdkafka begins another producer epoch, in
which it sends unacknowledged records again that may be in a log already. So the batches behind a refused one
are refused for the reason of that one: the producer sends all of them again, in order and in the same epoch.

Each batch is refused once like that. A batch that comes again while the one before it does not is told of the
gap, as that batch is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.records.batch import BatchHeader

MOST_RUNS: Final = 1000
"""Producers whose refused batches one log remembers. With more of them it begins anew."""


class _Run(msgspec.Struct):
    """Batches of one producer, in the order of their sequences, that were refused one behind the other."""

    producer_epoch: int
    first_sequence: int
    last_sequence: int
    error: ErrorCode


class Refusals:
    """The last run of refused batches of each producer of one log."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: dict[int, _Run] = {}

    def note(self, header: BatchHeader, error: ErrorCode) -> ErrorCode:
        """Remember that a batch is refused with `error`, after which its producer sends it again; return
        `error`. A batch without sequences leaves no gap.
        """
        if header.base_sequence < 0:
            return error
        run = self._runs.get(header.producer_id)
        if run is not None and run.producer_epoch == header.producer_epoch and _follows(header, run):
            run.last_sequence, run.error = header.last_sequence, error
        else:
            if run is None and len(self._runs) >= MOST_RUNS:
                self._runs.clear()
            self._runs[header.producer_id] = _Run(
                header.producer_epoch, header.base_sequence, header.last_sequence, error
            )
        return error

    def reason(self, header: BatchHeader, expected: int | None) -> ErrorCode:
        """Return the error with which a batch is refused as the one before it was; NONE where no refused
        batch is missing before it. `expected` is the sequence that is to come next, None where the log knows
        no batch of the producer.
        """
        run = self._runs.get(header.producer_id)
        if run is None or run.producer_epoch != header.producer_epoch or not _follows(header, run):
            return ErrorCode.NONE
        if expected is not None and not run.first_sequence <= expected <= run.last_sequence:
            return ErrorCode.NONE
        run.last_sequence = header.last_sequence
        return run.error

    def forget(self, producer_id: int) -> None:
        """Forget the run of a producer: a batch of it was appended."""
        self._runs.pop(producer_id, None)

    def forget_all(self) -> None:
        """Forget every run: what was under way behind them has arrived long since."""
        self._runs.clear()


def _follows(header: BatchHeader, run: _Run) -> bool:
    return header.base_sequence > run.last_sequence
