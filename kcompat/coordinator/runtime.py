"""The coordinator runtime: loads and unloads the shards of this broker, and runs operations on them.

The runtime is generic over the shard: groups keep theirs in `__consumer_offsets`, transactions in
`__transaction_state`. Every write is an operation that reads state and returns (records, response); the
records are appended and replayed into the state, and the response is sent once they are committed. Loading
after a start or a failover is the same replay. Kafka's counterpart: `CoordinatorRuntime`.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from kcompat.coordinator.errors import COMMITTED
from kcompat.coordinator.loader import Loader
from kcompat.coordinator.runner import ShardRunner
from kcompat.coordinator.transition import as_operation
from kcompat.log.errors import StorageError
from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.clock import Clock
    from kcompat.coordinator.loader import InBulk
    from kcompat.coordinator.operation import ShardOperation, Writer
    from kcompat.coordinator.ports import CoordinatorLog, Serde, Shard
    from kcompat.coordinator.timer import KeyedTimers
    from kcompat.coordinator.transition import Transition
    from kcompat.records.control import EndTransactionMarker

S = TypeVar("S", bound="Shard")
T = TypeVar("T")

logger = logging.getLogger(__name__)

INLINE_LOAD_BYTES = 256 * 1024
"""Bytes up to which a log is replayed as soon as this broker leads it, before any request is answered: some
clients take COORDINATOR_LOAD_IN_PROGRESS for a failure of the coordinator.
"""

LOAD_SLICE_BYTES = 64 * 1024
"""Bytes of a longer log that are replayed in one iteration of the event loop."""


class _Slot(Generic[S]):
    """A partition that this broker leads, with its leader epoch."""

    __slots__ = ("leader_epoch", "loading", "runner")

    def __init__(self, leader_epoch: int, runner: ShardRunner[S]) -> None:
        self.leader_epoch = leader_epoch
        self.runner = runner
        self.loading = True


class Runtime(Generic[S]):
    """The shards of one coordinator on one broker."""

    def __init__(
        self,
        log: CoordinatorLog,
        serde: Serde,
        clock: Clock,
        make_shard: Callable[[int, KeyedTimers], S],
        commit_timeout_ms: int = 5000,
        *,
        is_keyed: bool = True,
        in_bulk: Callable[[S], InBulk] = lambda _: None,
    ) -> None:
        """`make_shard(partition, timers)` makes an empty shard for a partition.

        `is_keyed` says that the last record of a key replaces all earlier records of the key, except
        tombstones. `in_bulk(shard)` returns the function that applies many records together during loading,
        or None.
        """
        self._log = log
        self._serde = serde
        self._clock = clock
        self._make_shard = make_shard
        self._commit_timeout_ms = commit_timeout_ms
        self._is_keyed = is_keyed
        self._in_bulk = in_bulk
        self._slots: dict[int, _Slot[S]] = {}
        self._loadable_from: dict[int, int] = {}
        """Lowest leader epoch at which an unloaded partition may be loaded again, by partition."""

    def load(self, partition: int, leader_epoch: int) -> None:
        """Load a partition that this broker leads from `leader_epoch` on.

        An older epoch than the last one changes nothing. A log that cannot be loaded raises no error here:
        its partition answers NOT_COORDINATOR until it is loaded at a later epoch.
        """
        slot = self._slots.get(partition)
        if slot is not None:
            slot.leader_epoch = max(slot.leader_epoch, leader_epoch)
            return
        if leader_epoch < self._loadable_from.get(partition, leader_epoch):
            return
        runner = ShardRunner(
            partition,
            self._log,
            self._serde,
            self._clock,
            self._make_shard,
            self._commit_timeout_ms,
            self._load_again,
        )
        slot = self._slots[partition] = _Slot(leader_epoch, runner)
        loader = Loader(
            self._log,
            self._serde,
            runner.shard,
            partition,
            is_keyed=self._is_keyed,
            in_bulk=self._in_bulk(runner.shard),
        )
        self._continue_loading(slot, loader, INLINE_LOAD_BYTES)

    def unload(self, partition: int, leader_epoch: int | None) -> None:
        """Unload a partition that another broker leads from `leader_epoch` on, or that is deleted (None).

        A deletion forgets the epochs, because a new topic of the same name starts again at epoch 0.
        """
        slot = self._slots.get(partition)
        if leader_epoch is None:
            self._loadable_from.pop(partition, None)
        elif slot is not None and leader_epoch < slot.leader_epoch:
            return
        else:
            seen = self._loadable_from.get(partition, leader_epoch)
            self._loadable_from[partition] = max(leader_epoch, seen)
        if slot is not None:
            del self._slots[partition]
            slot.runner.close()

    def close(self) -> None:
        """Unload all partitions when the broker stops."""
        for partition, slot in list(self._slots.items()):
            del self._slots[partition]
            slot.runner.close()

    def write(
        self,
        partition: int,
        operation: ShardOperation[S, T],
        failed: Callable[[ErrorCode], T],
        writer: Writer | None = None,
    ) -> Promise[T]:
        """Run an operation on a shard, and promise its response once its records are committed.

        With a `writer` the records belong to the writer's transaction. `failed(error)` makes the response for
        an error of `gate` or of the append.
        """
        slot = self._slots.get(partition)
        if slot is None or slot.loading:
            return Promise.resolved(failed(self.gate(partition)))
        return slot.runner.submit(operation, failed, writer)

    def run(
        self,
        partition: int,
        decide: Callable[[Transition[S]], T | Promise[T]],
        failed: Callable[[ErrorCode], T],
        writer: Writer | None = None,
    ) -> Promise[T]:
        """Run `decide(transition)` on a shard as `write` does; the result is the response."""
        return self.write(partition, as_operation(decide), failed, writer)

    def run_everywhere(self, decide: Callable[[Transition[S]], None]) -> None:
        """Run `decide(transition)` on each loaded shard, without a response or a retry of a failed append."""
        for partition in [partition for partition, _ in self.active()]:
            self.run(partition, decide, _ignore)

    def repeat_everywhere(self, decide: Callable[[Transition[S]], bool]) -> Promise[list[None]]:
        """Run `decide(transition)` on each loaded shard, once an iteration of the event loop, until it
        returns True. After an error of the append it is not repeated.
        """
        ends: list[Promise[None]] = []
        for partition in [partition for partition, _ in self.active()]:
            ends.append(Promise())
            self._clock.call_later(0, partial(self._repeat, partition, decide, ends[-1]))
        return gather(ends)

    def _repeat(self, partition: int, decide: Callable[[Transition[S]], bool], done: Promise[None]) -> None:
        def again(is_done: bool) -> None:
            if is_done:
                done.complete(None)
            else:
                self._clock.call_later(0, partial(self._repeat, partition, decide, done))

        self.run(partition, decide, lambda _: True).then(again, done.fail)

    def end_transaction(
        self, partition: int, writer: Writer, marker: EndTransactionMarker
    ) -> Promise[ErrorCode]:
        """End a producer's transaction in a partition: append its marker, and apply or drop its pending
        records.

        Like a write it waits for queued operations, so that markers and records are replayed in log order.
        The promise is NONE once the marker is committed, else the error of `gate` or of the append. Kafka's
        counterpart: `CoordinatorRuntime.completeTransaction`.
        """
        slot = self._slots.get(partition)
        if slot is None or slot.loading:
            return Promise.resolved(self.gate(partition))
        return slot.runner.end_transaction(writer, marker)

    def read(self, partition: int, query: Callable[[S, int], T], failed: Callable[[ErrorCode], T]) -> T:
        """Return `query(shard, now_ms)` at once. The query must read committed state only."""
        slot = self._slots.get(partition)
        if slot is None or slot.loading:
            return failed(self.gate(partition))
        return query(slot.runner.shard, self._clock.now_ms())

    def read_latest(
        self, partition: int, query: Callable[[S, int], T], failed: Callable[[ErrorCode], T]
    ) -> Promise[T]:
        """Promise the result of `read` once it is certain that no other broker has taken over.

        After the timeout of a write the result is `failed(NOT_COORDINATOR)`.
        """
        gate = self.gate(partition)
        if gate:
            return Promise.resolved(failed(gate))
        leads = self._log.still_leads(partition, self._commit_timeout_ms)
        return leads.map(
            lambda error: failed(ErrorCode.NOT_COORDINATOR) if error else self.read(partition, query, failed)
        )

    def gate(self, partition: int) -> ErrorCode:
        """Return NONE if the partition serves requests, else NOT_COORDINATOR or
        COORDINATOR_LOAD_IN_PROGRESS.
        """
        slot = self._slots.get(partition)
        if slot is None:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if slot.loading else ErrorCode.NONE

    def leader_epoch(self, partition: int) -> int:
        """Return the coordinator epoch of a partition: the epoch in which this broker leads it."""
        return self._slots[partition].leader_epoch

    @property
    def is_loading(self) -> bool:
        """Whether any partition is still being loaded."""
        return any(slot.loading for slot in self._slots.values())

    def active(self) -> Iterator[tuple[int, S]]:
        """Return partition and shard of each loaded partition."""
        return ((partition, slot.runner.shard) for partition, slot in self._slots.items() if not slot.loading)

    def _continue_loading(self, slot: _Slot[S], loader: Loader, max_bytes: int) -> None:
        runner = slot.runner
        if self._slots.get(runner.partition) is not slot:
            return  # unloaded in the meantime
        try:
            complete = loader.step(max_bytes)
        except Exception as fault:
            self._give_up(slot, fault)
            return
        if complete:
            committed = self._log.when_committed(runner.partition, loader.last_offset)
            committed.then(partial(self._serve, slot))
        else:
            self._clock.call_later(0, partial(self._continue_loading, slot, loader, LOAD_SLICE_BYTES))

    def _serve(self, slot: _Slot[S], outcome: ErrorCode) -> None:
        """Start serving a partition if all loaded records are committed; unload it if this leader cannot
        commit them.

        The high watermark of a new leader may be below offsets that the former leader has acknowledged. To
        serve only the records below it would show readers an older state than before. To serve all records
        might show some that are lost with this leader.
        """
        partition = slot.runner.partition
        if self._slots.get(partition) is not slot:
            return  # unloaded in the meantime
        if outcome not in COMMITTED:
            del self._slots[partition]  # a later leader epoch loads it again, perhaps here
            return
        try:
            slot.runner.shard.loaded(self._clock.now_ms())
        except Exception as fault:
            self._give_up(slot, fault)
            return
        slot.loading = False

    def _give_up(self, slot: _Slot[S], fault: Exception) -> None:
        """Unload a partition whose loading has failed.

        The same log would fail again, so the same epoch is not retried. No request waits in the incomplete
        shard, as the gate was closed.
        """
        partition = slot.runner.partition
        logger.error(
            "The coordinator does not serve %s-%d at leader epoch %d, as its log could not be loaded: %s",
            self._log.topic,
            partition,
            slot.leader_epoch,
            fault,
            exc_info=not isinstance(fault, StorageError),
        )
        slot.runner.timers.cancel_all()
        del self._slots[partition]
        self._loadable_from[partition] = slot.leader_epoch + 1

    def _load_again(self, runner: ShardRunner[S]) -> None:
        """Load a partition again after a fault that may have left its shard different from its log."""
        partition = runner.partition
        slot = self._slots.get(partition)
        if slot is None or slot.runner is not runner:
            return  # unloaded in the meantime
        logger.error(
            "The coordinator loads %s-%d again after a fault in one of its requests",
            self._log.topic,
            partition,
        )
        slot.loading = True
        self._clock.call_later(0, partial(self._replace, slot))

    def _replace(self, slot: _Slot[S]) -> None:
        partition = slot.runner.partition
        if self._slots.get(partition) is slot:
            del self._slots[partition]
            self.load(partition, slot.leader_epoch)


def _ignore(_error: ErrorCode) -> None:
    """Ignore the error of an operation without a response."""
