"""A coordinator's partitions in memory, whose commits a test can hold back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.log.append import BY_COORDINATOR
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import assign, iter_headers, read_header

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.ports import CoordinatorLog
    from kcompat.log.append import AppendTerms
    from kcompat.log.verification import VerificationGuard


PIECES: Final = (1, 500, 2_000, 1 << 20)
"""Sizes in bytes of the pieces in which a copy is read."""


class MemoryCoordinatorLog:
    """A `CoordinatorLog` of batches in lists. `hold` keeps the high watermark where it is until `release`.

    `error` is what the next appends fail with, until it is NONE again; `unreadable` are the partitions whose
    reads raise, and what they raise. `wake` is called by each append before it returns, as a high watermark
    that moves wakes whoever waits for it.
    """

    topic = "coordinator"

    def __init__(self) -> None:
        self.batches: dict[int, list[bytes]] = {}
        self.error = ErrorCode.NONE
        self.appends = 0
        self.leads: Promise[ErrorCode] = Promise.resolved(ErrorCode.NONE)
        self.wake: Callable[[], object] = lambda: None
        self.unreadable: dict[int, Exception] = {}
        self._held = False
        self._waiting: list[tuple[int, int, Promise[ErrorCode]]] = []
        self.verification: VerificationGuard | ErrorCode = ErrorCode.NONE
        self.terms: list[AppendTerms] = []

    def begin_verification(
        self, _partition: int, _producer_id: int, _epoch: int, _now_ms: int, *, adds: bool
    ) -> VerificationGuard | ErrorCode:
        """`verification`: nothing has to be verified unless a test says so."""
        del adds
        return self.verification

    def append(
        self, partition: int, batch: bytearray, _now_ms: int, terms: AppendTerms = BY_COORDINATOR
    ) -> tuple[ErrorCode, int]:
        """Append at the log end, unless `error` says otherwise."""
        self.appends += 1
        self.terms.append(terms)
        if self.error != ErrorCode.NONE:
            return self.error, -1
        assign(batch, self.end_offset(partition), 0)
        self.batches.setdefault(partition, []).append(bytes(batch))
        last_offset = self.end_offset(partition) - 1
        self.wake()
        return ErrorCode.NONE, last_offset

    def when_committed(self, partition: int, offset: int) -> Promise[ErrorCode]:
        """Done at once, unless commits are held back."""
        if not self._held:
            return Promise.resolved(ErrorCode.NONE)
        promise: Promise[ErrorCode] = Promise()
        self._waiting.append((partition, offset, promise))
        return promise

    def still_leads(self, partition: int, timeout_ms: float) -> Promise[ErrorCode]:
        """Return `leads`, as a coordinator without followers does."""
        del partition, timeout_ms
        return self.leads

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`."""
        if partition in self.unreadable:
            raise self.unreadable[partition]
        data = bytearray()
        for batch in self.batches.get(partition, []):
            if read_header(batch).next_offset > offset:
                if data and len(data) + len(batch) > max_bytes:
                    break
                data += batch
        return bytes(data)

    def start_offset(self, partition: int) -> int:
        """The first offset there is."""
        batches = self.batches.get(partition)
        return read_header(batches[0]).base_offset if batches else 0

    def end_offset(self, partition: int) -> int:
        """The offset after the last."""
        batches = self.batches.get(partition)
        return read_header(batches[-1]).next_offset if batches else 0

    def hold(self) -> None:
        """Commit nothing from now on."""
        self._held = True

    def release(self, outcome: ErrorCode = ErrorCode.NONE) -> None:
        """Commit all that waits, or let it fail with `outcome`; nothing is held back any more."""
        self._held = False
        waiting, self._waiting = self._waiting, []
        for _, _, promise in waiting:
            promise.complete(outcome)

    def batch_count(self, partition: int) -> int:
        """How many batches the partition holds."""
        return sum(1 for batch in self.batches.get(partition, []) for _ in iter_headers(memoryview(batch)))


class CommittedCopy(MemoryCoordinatorLog):
    """A copy of another log to be read, as if all of its records were committed.

    It is read in pieces of every size, the one by one log and the other by another: a loader must not depend
    on where it stops.
    """

    def __init__(self, log: CoordinatorLog) -> None:
        super().__init__()
        self._log = log

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """As the other log reads, but no more than a few batches, or one."""
        piece = PIECES[self.end_offset(partition) % len(PIECES)]
        return self._log.read(partition, offset, min(max_bytes, piece))

    def start_offset(self, partition: int) -> int:
        return self._log.start_offset(partition)

    def end_offset(self, partition: int) -> int:
        return self._log.end_offset(partition)
