"""The transaction coordinator: one method for each API, run on the shard that owns the transactional id.

Kafka's counterpart: `TransactionCoordinator`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from kcompat.coordinator.partitioning import partition_for
from kcompat.coordinator.runtime import Runtime
from kcompat.notices.causes import TRANSACTION_TIMED_OUT
from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.regex.scan import Scan
from kcompat.transaction import additions, describe, ending, producers
from kcompat.transaction.describe import DescribedTransaction
from kcompat.transaction.requests import NeedsProducerId, Producer, ProducerAnswer, transaction_error
from kcompat.transaction.serde import TRANSACTION_SERDE
from kcompat.transaction.shard import TransactionShard

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from kcompat.clock import Clock, Timer
    from kcompat.coordinator.ports import CoordinatorLog
    from kcompat.coordinator.timer import KeyedTimers
    from kcompat.notices.notices import Notices
    from kcompat.topics import TopicPartition
    from kcompat.transaction.base import TransactionTransition
    from kcompat.transaction.describe import TransactionFilter
    from kcompat.transaction.markers import Markers
    from kcompat.transaction.requests import EndRequest, Errors, InitRequest
    from kcompat.transaction.transaction import Transaction

    DecideWithId = Callable[[TransactionTransition, int | None], ProducerAnswer | NeedsProducerId]

T = TypeVar("T")


class TransactionCoordinatorConfig(Struct, frozen=True):
    """Broker configs of the transaction coordinator; times in ms."""

    max_timeout_ms: int
    abort_interval_ms: int
    """Interval between searches for transactions that have timed out."""
    expiry_interval_ms: int
    """Interval between searches for transactional ids that have expired."""
    retention_ms: int
    """Time after which an unused transactional id expires."""
    commit_timeout_ms: int

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> TransactionCoordinatorConfig:
        """Read the settings through `get`, which returns the value of a Kafka key."""
        return cls(
            max_timeout_ms=get("transaction.max.timeout.ms"),
            abort_interval_ms=get("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            expiry_interval_ms=get("transaction.remove.expired.transaction.cleanup.interval.ms"),
            retention_ms=get("transactional.id.expiration.ms"),
            commit_timeout_ms=get("request.timeout.ms"),
        )


class TransactionCoordinator:
    """All transactional ids that one broker coordinates. `load` adds a partition of `__transaction_state`,
    `unload` removes it.

    `partition_count()` returns the number of partitions of `__transaction_state`, 0 while it is unknown.
    `next_producer_id()` promises an unused producer id, or None if none can be allocated now.
    `feature_level()` returns the level of `transaction.version`.
    """

    def __init__(
        self,
        log: CoordinatorLog,
        clock: Clock,
        config: TransactionCoordinatorConfig,
        partition_count: Callable[[], int],
        next_producer_id: Callable[[], Promise[int | None]],
        markers: Markers,
        feature_level: Callable[[], int],
        notices: Notices,
    ) -> None:
        self.config = config
        self._notices = notices
        self._clock = clock
        self._partition_count = partition_count
        self._next_producer_id = next_producer_id
        self._markers = markers
        self._feature_level = feature_level
        self.runtime: Runtime[TransactionShard] = Runtime(
            log, TRANSACTION_SERDE, clock, self._make_shard, config.commit_timeout_ms
        )
        self._timers: dict[Callable[[], object], Timer] = {}

    def _make_shard(self, partition: int, _timers: KeyedTimers) -> TransactionShard:
        return TransactionShard(partial(self._decided, partition), self._feature_level)

    # --- start and stop

    def start(self) -> None:
        """Begin to search at intervals for transactions that have timed out, and for ids that have
        expired.
        """
        self._look_later(self.abort_overdue, self.config.abort_interval_ms)
        self._look_later(self.expire_ids, self.config.expiry_interval_ms)

    def stop(self) -> None:
        """Answer NOT_COORDINATOR to all waiting requests and to all later ones."""
        for timer in self._timers.values():
            timer.cancel()
        self._markers.close()
        self.runtime.close()

    def load(self, partition: int, leader_epoch: int) -> None:
        """Load a partition of `__transaction_state` that this broker leads. If the partition is loaded
        already, only its leader epoch changes, and the writing of markers continues.
        """
        self.runtime.load(partition, leader_epoch)

    def unload(self, partition: int, leader_epoch: int | None) -> None:
        """Unload a partition of `__transaction_state` that this broker no longer leads; an older epoch
        changes nothing.

        `leader_epoch` is None if the partition was deleted.
        """
        self.runtime.unload(partition, leader_epoch)
        if self.runtime.gate(partition) == ErrorCode.NOT_COORDINATOR:
            self._markers.forget(partition)

    def partition_of(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` that keeps the id."""
        return partition_for(transactional_id, self._partition_count())

    # --- the APIs

    def initialize(self, request: InitRequest) -> Promise[ProducerAnswer]:
        """Handle InitProducerId with a transactional id."""
        if not request.transactional_id:
            return Promise.resolved(ProducerAnswer(ErrorCode.INVALID_REQUEST))
        if not 0 < request.timeout_ms <= self.config.max_timeout_ms:
            return Promise.resolved(ProducerAnswer(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
        return self._with_producer_id(
            request.transactional_id,
            lambda transition, fresh_id: producers.initialize(transition, request, fresh_id),
        )

    def add_partitions(
        self, name: str, producer: Producer, partitions: Collection[TopicPartition], client_version: int
    ) -> Promise[ErrorCode]:
        """Handle AddPartitionsToTxn or AddOffsetsToTxn: add all of these partitions, or none."""
        if not name:
            return Promise.resolved(ErrorCode.INVALID_REQUEST)
        return self._write(
            name,
            lambda transition: additions.add(transition, name, producer, partitions, client_version),
            transaction_error,
        )

    def verify(self, name: str, producer: Producer, partitions: Collection[TopicPartition]) -> Errors:
        """Handle AddPartitionsToTxn with `verify_only`: return the error of each partition."""
        if not name:
            return dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST)
        return self.runtime.read(
            self.partition_of(name),
            lambda shard, _: additions.verify(shard, name, producer, partitions),
            lambda error: dict.fromkeys(partitions, error),
        )

    def end(self, request: EndRequest) -> Promise[ProducerAnswer]:
        """Handle EndTxn. The response is sent once the decision is committed, before the markers
        are written.
        """
        if not request.transactional_id:
            return Promise.resolved(ProducerAnswer(ErrorCode.INVALID_REQUEST))
        return self._with_producer_id(
            request.transactional_id, lambda transition, fresh_id: ending.end(transition, request, fresh_id)
        )

    def describe(self, name: str) -> DescribedTransaction:
        """Handle DescribeTransactions of one transactional id."""
        if not name:
            return DescribedTransaction(ErrorCode.INVALID_REQUEST)
        return self.runtime.read(
            self.partition_of(name), lambda shard, _: describe.describe(shard, name), DescribedTransaction
        )

    def list_all(self, wanted: TransactionFilter) -> tuple[ErrorCode, list[tuple[str, Transaction]]]:
        """Handle ListTransactions for the partitions of this broker.

        Returns COORDINATOR_LOAD_IN_PROGRESS and no ids while a partition is being loaded.
        """
        if self.runtime.is_loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, []
        now_ms = self._clock.now_ms()
        shards = (shard for _, shard in self.runtime.active())
        return ErrorCode.NONE, [row for shard in shards for row in describe.list_all(shard, wanted, now_ms)]

    def matching(self, pattern: str, names: Sequence[str]) -> Promise[frozenset[str]]:
        """Return the members of `names` that a valid pattern matches as a whole.

        The matching runs in slices, so that a costly pattern does not block the event loop.
        """
        found: Promise[frozenset[str]] = Promise()
        scan = Scan([pattern], names)

        def go_on() -> None:
            if scan.run(STEPS_IN_A_SLICE):
                found.complete(frozenset(scan.found[pattern]))
            else:
                self._clock.call_later(0, go_on)

        go_on()
        return found

    # --- the passage of time

    def abort_overdue(self) -> Promise[list[None]]:
        """Abort the transactions that are open for longer than their timeout.

        The promise is kept when the decisions are committed; `is_marking` tells whether all markers are
        written.
        """
        now_ms = self._clock.now_ms()
        return gather(
            [
                self._abort_overdue(partition, name)
                for partition, shard in list(self.runtime.active())
                for name in ending.overdue(shard, now_ms)
            ]
        )

    def _abort_overdue(self, partition: int, name: str) -> Promise[None]:
        def logged(aborted: Transaction | None) -> None:
            if aborted is not None:
                self._notices.tell(
                    TRANSACTION_TIMED_OUT,
                    f"transactional.id {name}",
                    producer_id=aborted.producer_id,
                    open_ms=self._clock.now_ms() - aborted.started_ms,
                    timeout_ms=aborted.timeout_ms,
                )

        decide: Callable[[TransactionTransition], Transaction | None]
        decide = partial(ending.abort_overdue, name=name)
        return self.runtime.run(partition, decide, lambda _: None).map(logged)

    def expire_ids(self) -> Promise[list[None]]:
        """Forget the transactional ids that were unused for `transactional.id.expiration.ms`."""
        retention_ms = self.config.retention_ms
        return self.runtime.repeat_everywhere(lambda transition: ending.expire(transition, retention_ms))

    @property
    def is_marking(self) -> bool:
        """Whether a decided transaction lacks markers."""
        return len(self._markers) > 0

    # --- helpers

    def _with_producer_id(
        self, name: str, decide: DecideWithId, fresh_id: int | None = None
    ) -> Promise[ProducerAnswer]:
        """Run the operation `decide`; if it needs a producer id, allocate one and run it again with the id.

        The second run may find that it no longer needs the id.
        """
        outcome: Promise[ProducerAnswer | NeedsProducerId] = self._write(
            name,
            lambda transition: decide(transition, fresh_id),
            lambda error: ProducerAnswer(transaction_error(error)),
        )
        return outcome.flat_map(partial(self._answer_or_allocate, name, decide))

    def _answer_or_allocate(
        self, name: str, decide: DecideWithId, outcome: ProducerAnswer | NeedsProducerId
    ) -> Promise[ProducerAnswer]:
        if isinstance(outcome, ProducerAnswer):
            return Promise.resolved(outcome)
        return self._next_producer_id().flat_map(partial(self._decide_again, name, decide))

    def _decide_again(self, name: str, decide: DecideWithId, fresh_id: int | None) -> Promise[ProducerAnswer]:
        if fresh_id is None:
            return Promise.resolved(ProducerAnswer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        return self._with_producer_id(name, decide, fresh_id)

    def _write(
        self,
        name: str,
        decide: Callable[[TransactionTransition], T | Promise[T]],
        failed: Callable[[ErrorCode], T],
    ) -> Promise[T]:
        self._markers.hurry(name)
        return self.runtime.run(self.partition_of(name), decide, failed)

    def _decided(self, partition: int, name: str, transaction: Transaction) -> None:
        epoch = self.runtime.leader_epoch(partition)
        self._markers.begin(
            partition, epoch, name, transaction, partial(self._marked, partition, name, transaction)
        )

    def _marked(self, partition: int, name: str, decided: Transaction) -> None:
        """Complete the transaction once its markers are written; retry a failed write while this broker
        coordinates the id.

        Only this retry completes the transaction, as its markers are written and forgotten. The runtime, not
        the error of the append, says whether this broker still coordinates: a full disk may be temporary.
        """

        def written(error: ErrorCode) -> None:
            if error and self.runtime.gate(partition) != ErrorCode.NOT_COORDINATOR:
                self._clock.call_later(RETRY_MS, partial(self._marked, partition, name, decided))

        def decide(transition: TransactionTransition) -> ErrorCode:
            ending.complete(transition, name, decided)
            return ErrorCode.NONE

        self.runtime.run(partition, decide, lambda error: error).then(written)

    def _look_later(self, look: Callable[[], object], interval_ms: int) -> None:
        def again() -> None:
            self._look_later(look, interval_ms)
            look()

        self._timers[look] = self._clock.call_later(interval_ms, again)


STEPS_IN_A_SLICE = 20_000
"""Pattern matching steps in one iteration of the event loop: a few milliseconds."""

RETRY_MS = 100
"""Milliseconds before a completion that could not be written is tried again."""
