"""Operations on one shard: run one at a time, answered in order, records committed before the response.

The completion of a response can deliver the next request on the same stack, because the connection was
waiting for it; an append can do so too, because it moves the high watermark. Such a request must not see the
shard in the middle of an operation: operations are queued, and responses are sent only between them.

An operation that raises fails its own request only. A later fault (in the append, the replay, or the
operation after the commit) fails its request too, and may leave the shard different from its log. Kafka
replays first and returns to a snapshot. Here the log decides: the shard is closed, its waiting requests get
NOT_COORDINATOR, and another shard is loaded.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kcompat.coordinator.errors import COMMITTED
from kcompat.coordinator.operation import Answer, ReplayPosition, Result
from kcompat.coordinator.timer import KeyedTimers
from kcompat.faults import contained
from kcompat.log.append import BY_COORDINATOR
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch
from kcompat.records.control import ControlType, build_marker
from kcompat.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock, Timer
    from kcompat.coordinator.operation import CoordinatorRecord, ShardOperation, Writer
    from kcompat.coordinator.ports import CoordinatorLog, Serde, Shard
    from kcompat.records.control import EndTransactionMarker

S = TypeVar("S", bound="Shard")
T = TypeVar("T")


class _Pending(Generic[T]):
    """An operation that waits until its records, or earlier records that it has read, are committed."""

    __slots__ = ("failed", "promise", "result", "timer")

    def __init__(self, result: Result[T], failed: Callable[[ErrorCode], T], promise: Promise[T]) -> None:
        self.result = result
        self.failed = failed
        self.promise = promise
        self.timer: Timer | None = None


class ShardRunner(Generic[S]):
    """A loaded partition of a coordinator: its shard, its timers, and its uncommitted writes.

    `commit_timeout_ms` is `offsets.commit.timeout.ms`: a write that takes longer to commit is answered
    REQUEST_TIMED_OUT, although its records may be committed later.
    """

    def __init__(
        self,
        partition: int,
        log: CoordinatorLog,
        serde: Serde,
        clock: Clock,
        make_shard: Callable[[int, KeyedTimers], S],
        commit_timeout_ms: int,
        on_fault: Callable[[ShardRunner[S]], object],
    ) -> None:
        """`on_fault(self)` is called when a fault may have left the shard different from its log."""
        self.partition = partition
        self.timers = KeyedTimers(clock, self._run_timer)
        self.shard = make_shard(partition, self.timers)
        self._log = log
        self._serde = serde
        self._clock = clock
        self._commit_timeout_ms = commit_timeout_ms
        self._on_fault = on_fault
        self._jobs: deque[tuple[Callable[[], None], Promise[Any]]] = deque()
        self._answers: deque[Answer] = deque()
        self._pending: dict[_Pending[Any], None] = {}  # in log order
        self._appended_to = -1
        """Offset of the last record or marker that this runner appended."""
        self._committed_to = -1
        """Offset of the last record or marker that is known to be committed."""
        self._busy = False
        self._closed = False

    def submit(
        self,
        operation: ShardOperation[S, T],
        failed: Callable[[ErrorCode], T],
        writer: Writer | None = None,
    ) -> Promise[T]:
        """Run an operation now, or after the operation under way.

        `failed(error)` makes the response for the error of an append. With a `writer` the records belong to
        the writer's transaction.
        """
        promise: Promise[T] = Promise()
        self._do(partial(self._execute, operation, failed, promise, writer), promise)
        return promise

    def end_transaction(self, writer: Writer, marker: EndTransactionMarker) -> Promise[ErrorCode]:
        """Append a transaction's marker and apply it, now or after the operation under way."""
        promise: Promise[ErrorCode] = Promise()
        self._do(partial(self._end_transaction, writer, marker, promise), promise)
        return promise

    def close(self) -> None:
        """Answer NOT_COORDINATOR to all waiting requests: the partition has left this broker."""
        self._do(self._close, Promise())

    def _run_timer(self, operation: ShardOperation[S, None]) -> None:
        self.submit(operation, _ignore)

    def _do(self, job: Callable[[], None], promise: Promise[Any]) -> None:
        """Run a job on the shard, now or after the job under way.

        If the job raises, `promise` fails and the shard is closed and loaded again.
        """
        self._jobs.append((job, promise))
        if self._busy:
            return
        while self._jobs or self._answers:
            self._busy = True
            while self._jobs:
                job, promise = self._jobs.popleft()
                try:
                    job()
                except Exception as fault:
                    self._give_up()
                    promise.fail(fault)
            self._busy = False
            while self._answers and not self._jobs:
                promise, value = self._answers.popleft()
                promise.complete(value)

    def _execute(
        self,
        operation: ShardOperation[S, T],
        failed: Callable[[ErrorCode], T],
        promise: Promise[T],
        writer: Writer | None,
    ) -> None:
        if self._closed:
            self._refuse(promise, failed, ErrorCode.NOT_COORDINATOR)
            return
        now_ms = self._clock.now_ms()
        try:
            result = operation(self.shard, now_ms)
            batch = self._batch(result.records, now_ms, writer)
        except Exception as fault:
            promise.fail(fault)  # nothing was appended, so the shard still equals its log
            return
        self._apply(result, batch, failed, promise, now_ms, writer)

    def _batch(
        self, records: list[CoordinatorRecord], now_ms: int, writer: Writer | None = None
    ) -> bytearray | None:
        """Return the records as one batch, or None if there are none."""
        if not records:
            return None
        rows = [Record(0, now_ms, *self._serde.serialize(record)) for record in records]
        if writer is None:
            return build_batch(rows)
        return build_batch(
            rows, producer_id=writer.producer_id, producer_epoch=writer.epoch, transactional=True
        )

    def _apply(
        self,
        result: Result[T],
        batch: bytearray | None,
        failed: Callable[[ErrorCode], T],
        promise: Promise[T],
        now_ms: int,
        writer: Writer | None = None,
    ) -> None:
        self._answers.extend(result.answers)
        if isinstance(result.response, Promise):
            result.response.then(promise.complete, promise.fail)
        pending = _Pending(result, failed, promise)
        error, last_offset = ErrorCode.NONE, self._appended_to
        if batch is not None:
            error, last_offset = self._append(batch, result.records, now_ms, writer)
        if error == ErrorCode.NONE and result.appended is not None:
            follow = result.appended(self.shard, now_ms)
            self._apply(follow, self._batch(follow.records, now_ms), _ignore, Promise(), now_ms)
        builds_on_more = last_offset > self._committed_to and _tells_something(result.response)
        if batch is None and not builds_on_more:
            self._settle(pending, ErrorCode.NONE)
        else:
            self._await_commit(pending, error, last_offset)

    def _end_transaction(
        self, writer: Writer, marker: EndTransactionMarker, promise: Promise[ErrorCode]
    ) -> None:
        if self._closed:
            self._answers.append(Answer(promise, ErrorCode.NOT_COORDINATOR))
            return
        now_ms = self._clock.now_ms()
        batch = build_marker(
            marker,
            producer_id=writer.producer_id,
            producer_epoch=writer.epoch,
            timestamp=now_ms,
            leader_epoch=0,
        )
        error, offset = self._log.append(self.partition, batch, now_ms, writer.terms)
        if error == ErrorCode.NONE:
            self._appended_to = offset
            self.shard.replay_end_transaction(writer.producer_id, marker.type == ControlType.COMMIT, offset)
        self._await_commit(_Pending(Result(ErrorCode.NONE), _itself, promise), error, offset)

    def _await_commit(self, pending: _Pending[Any], error: ErrorCode, last_offset: int) -> None:
        """Settle the records up to `last_offset` once they are committed, or at once on an `error`."""
        if error != ErrorCode.NONE:
            self._settle(pending, error)
            return
        committed = self._log.when_committed(self.partition, last_offset)
        if committed.done:
            self._on_commit(pending, last_offset, committed)
            return
        self._pending[pending] = None
        pending.timer = self._clock.call_later(
            self._commit_timeout_ms,
            lambda: self._do(partial(self._settle, pending, ErrorCode.REQUEST_TIMED_OUT), pending.promise),
        )

        def settled(_: object) -> None:
            self._do(partial(self._on_commit, pending, last_offset, committed), pending.promise)

        committed.then(settled, settled)

    def _append(
        self, batch: bytearray, records: list[CoordinatorRecord], now_ms: int, writer: Writer | None
    ) -> tuple[ErrorCode, int]:
        """Append the batch and replay its records; on an error nothing is replayed."""
        terms, producer_id = (BY_COORDINATOR, -1) if writer is None else (writer.terms, writer.producer_id)
        error, last_offset = self._log.append(self.partition, batch, now_ms, terms)
        if error == ErrorCode.NONE:
            self._appended_to = last_offset
            base_offset = last_offset - len(records) + 1
            for delta, record in enumerate(records):
                self.shard.replay(record, ReplayPosition(base_offset + delta, producer_id))
        return error, last_offset

    def _on_commit(self, pending: _Pending[Any], last_offset: int, committed: Promise[ErrorCode]) -> None:
        if self._closed:
            return
        outcome = committed.value
        if outcome in COMMITTED and last_offset > self._committed_to:
            self._committed_to = last_offset
            self.shard.committed(last_offset)
        if pending.timer is None or pending in self._pending:
            self._settle(pending, outcome)

    def _settle(self, pending: _Pending[Any], error: ErrorCode) -> None:
        """Run the operation that follows the commit or failure of the records, and send the response."""
        if pending.timer is not None:
            if pending not in self._pending:
                return
            del self._pending[pending]
            pending.timer.cancel()
        settled = pending.result.settled
        if settled is not None:
            now_ms = self._clock.now_ms()
            result = settled(self.shard, now_ms, error)
            self._apply(result, self._batch(result.records, now_ms), _ignore, Promise(), now_ms)
        self._respond(pending, error)

    def _respond(self, pending: _Pending[Any], error: ErrorCode) -> None:
        response = pending.result.response
        if isinstance(response, Promise):
            return  # the shard answers the promise that it has parked
        if error == ErrorCode.NONE:
            self._answers.append(Answer(pending.promise, response))
        else:
            self._refuse(pending.promise, pending.failed, error)

    def _refuse(self, promise: Promise[T], failed: Callable[[ErrorCode], T], error: ErrorCode) -> None:
        try:
            self._answers.append(Answer(promise, failed(error)))
        except Exception as fault:
            promise.fail(fault)

    def _give_up(self) -> None:
        if not self._closed:
            self._close()
            self._on_fault(self)

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.timers.cancel_all()
        with contained("a shard that answers its pending requests"):
            self._answers.extend(Answer(promise, value) for promise, value in self.shard.unloaded())
        for pending in self._pending:
            assert pending.timer is not None
            pending.timer.cancel()
            # The operations after these commits will not run, so their requests are refused here. A request
            # that the shard has answered above is not answered again, as its promise is complete.
            self._refuse(pending.promise, pending.failed, ErrorCode.NOT_COORDINATOR)
        self._pending.clear()


def _tells_something(response: object) -> bool:
    """Return whether the response is a value that has to wait for the records that the operation has read."""
    return response is not None and not isinstance(response, Promise)


def _itself(error: ErrorCode) -> ErrorCode:
    return error


def _ignore(_error: ErrorCode) -> None:
    """Ignore the error of an operation that has no request to answer."""
