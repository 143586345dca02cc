"""The coordinator runtime: the shards this broker owns, loading and unloading them, asking them.

Generic over the shard: groups keep theirs in `__consumer_offsets`, transactions in `__transaction_state`.
Every write is an operation that reads state and returns (records, response); the records are appended,
replayed into the state, and the response is given once they are committed. Loading after a start or a
failover is the same replay. Kafka's counterpart: `CoordinatorRuntime`.
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
from kcompat.promise import Promise
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
"""Bytes of a log that are replayed at once: some clients take COORDINATOR_LOAD_IN_PROGRESS for a crash."""

LOAD_SLICE_BYTES = 64 * 1024
"""Bytes of a longer log that are replayed in one iteration of the event loop."""


class _Slot(Generic[S]):
    """A partition this broker owns, at a leader epoch."""

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
        """`make_shard(partition, timers)` makes the shard of a partition, of which nothing is loaded yet.
        `is_keyed` says that the last record of a key tells all that those before it did, but for tombstones;
        `in_bulk(shard)` applies many records together while the log is loaded, where the shard can.
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
        """Lowest leader epoch from which a partition that is not loaded may be loaded again."""

    def load(self, partition: int, leader_epoch: int) -> None:
        """Load a partition that this broker leads from `leader_epoch` on.

        An epoch older than one seen changes nothing. A log that cannot be loaded raises nothing here: its
        partition answers NOT_COORDINATOR until a load of a later epoch works.
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

        A topic of the same name that is created later starts its epochs anew, so a deletion forgets them.
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
        """Unload everything when the broker stops."""
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
        """Run an operation on a shard and give its response once its records are committed; with a `writer`
        they are part of its transaction.

        `failed` turns the errors of the gate (NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS) and the raw
        errors of the append into a response.
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
        """Write the records of `decide(transition)` and respond with its result: see `write`."""
        return self.write(partition, as_operation(decide), failed, writer)

    def run_everywhere(self, decide: Callable[[Transition[S]], None]) -> None:
        """Run `decide(transition)` on each loaded shard, without a response; do not retry a failed append."""
        for partition in [partition for partition, _ in self.active()]:
            self.run(partition, decide, _ignore)

    def end_transaction(
        self, partition: int, writer: Writer, marker: EndTransactionMarker
    ) -> Promise[ErrorCode]:
        """End a producer's transaction in a partition: append its marker, and apply or drop its staged
        records.

        Like a write this waits for the operations queued before it, so that markers and records are replayed
        in the order of the log. The promise is NONE once the marker is committed, else the error of the gate
        or of the append. Kafka's counterpart: `CoordinatorRuntime.completeTransaction`.
        """
        slot = self._slots.get(partition)
        if slot is None or slot.loading:
            return Promise.resolved(self.gate(partition))
        return slot.runner.end_transaction(writer, marker)

    def read(self, partition: int, query: Callable[[S, int], T], failed: Callable[[ErrorCode], T]) -> T:
        """Return `query(shard, now_ms)` at once; the query may read what the shard calls committed."""
        slot = self._slots.get(partition)
        if slot is None or slot.loading:
            return failed(self.gate(partition))
        return query(slot.runner.shard, self._clock.now_ms())

    def read_latest(
        self, partition: int, query: Callable[[S, int], T], failed: Callable[[ErrorCode], T]
    ) -> Promise[T]:
        """Read as `read` does, once it is certain that no other coordinator has taken over; NOT_COORDINATOR
        if that takes longer than a write may.
        """
        gate = self.gate(partition)
        if gate:
            return Promise.resolved(failed(gate))
        leads = self._log.still_leads(partition, self._commit_timeout_ms)
        return leads.map(
            lambda error: failed(ErrorCode.NOT_COORDINATOR) if error else self.read(partition, query, failed)
        )

    def gate(self, partition: int) -> ErrorCode:
        """Return NONE if the partition takes requests, else the error that says why not."""
        slot = self._slots.get(partition)
        if slot is None:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if slot.loading else ErrorCode.NONE

    def leader_epoch(self, partition: int) -> int:
        """Return the epoch in which this broker leads a partition that it serves: the coordinator's epoch."""
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
            return  # unloaded meanwhile
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
        """Start serving a partition once all that was loaded is committed, or this leader cannot commit it.

        The high watermark of a new leader lies behind what the former leader has acknowledged. Readers of the
        records below it would see an older state than before; readers of all records might see some that are
        lost with this leader.
        """
        partition = slot.runner.partition
        if self._slots.get(partition) is not slot:
            return  # unloaded meanwhile
        if outcome not in COMMITTED:
            del self._slots[partition]  # a later leader loads it anew, which may be this broker
            return
        try:
            slot.runner.shard.loaded(self._clock.now_ms())
        except Exception as fault:
            self._give_up(slot, fault)
            return
        slot.loading = False

    def _give_up(self, slot: _Slot[S], fault: Exception) -> None:
        """Drop what has been loaded so far.

        The same log would fail again, so the same epoch is not retried. No request waits in the shard, as the
        gate was closed, and the shard is not complete.
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
        """Load a partition again after a fault may have left its shard different from its log."""
        partition = runner.partition
        slot = self._slots.get(partition)
        if slot is None or slot.runner is not runner:
            return  # unloaded meanwhile
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
    """Drop the error of an operation without a response."""
