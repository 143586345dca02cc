"""A transaction coordinator on virtual time, its log in memory, and brokers that write markers as told."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.coordinator.operation import CoordinatorRecord
from kcompat.notices.notices import Notices
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.transaction_log import TransactionLogKey
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.transaction.coordinator import TransactionCoordinator, TransactionCoordinatorConfig
from kcompat.transaction.markers import Markers
from kcompat.transaction.requests import EndRequest, InitRequest, Producer, ProducerAnswer
from kcompat.transaction.serde import TRANSACTION_SERDE, value_of
from kcompat.transaction.transaction import FENCING_EPOCH, LAST_EPOCH
from support.coordinator_log import MemoryCoordinatorLog
from support.default_settings import with_defaults
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.topics import TopicPartition
    from kcompat.transaction.markers import Marker
    from kcompat.transaction.requests import Errors
    from kcompat.transaction.transaction import Transaction

PARTITIONS = 3
NAME = "id"
TIMEOUT_MS = 60_000
A, B = ("t", 0), ("u", 1)
LEADER = 1


class MarkedBrokers:
    """`MarkerPorts`: every partition is led by `leaders`, or by LEADER. Markers are written at once, with the
    error that `errors` has for the partition, or when the test releases them.
    """

    def __init__(self) -> None:
        self.leaders: dict[TopicPartition, int | None] = {}
        self.errors: dict[TopicPartition, ErrorCode] = {}
        self.written: list[tuple[int, Marker]] = []
        self.is_reachable = True
        self._held: list[tuple[int, Sequence[Marker], Promise[list[Errors]]]] | None = None

    def leader_of(self, partition: TopicPartition) -> int | None:
        return self.leaders.get(partition, LEADER)

    def write(self, broker_id: int, markers: Sequence[Marker]) -> Promise[list[Errors]]:
        answer: Promise[list[Errors]] = Promise()
        if self._held is None:
            self._answer(broker_id, markers, answer)
        else:
            self._held.append((broker_id, markers, answer))
        return answer

    def _answer(self, broker_id: int, markers: Sequence[Marker], answer: Promise[list[Errors]]) -> None:
        if not self.is_reachable:
            answer.fail(ConnectionError("unreachable"))
            return
        self.written += [(broker_id, marker) for marker in markers]
        answer.complete(
            [
                {each: self.errors.get(each, ErrorCode.NONE) for each in marker.partitions}
                for marker in markers
            ]
        )

    def hold(self) -> None:
        """Answer nothing from now on."""
        if self._held is None:
            self._held = []

    @property
    def held(self) -> int:
        """How many requests wait."""
        return len(self._held or ())

    def release(self) -> None:
        """Answer what waits, and from now on at once."""
        held, self._held = self._held or [], None
        for each in held:
            self._answer(*each)


class TransactionFixture:
    """One broker's transaction coordinator. Producer ids are 1000, 1001, ... in the order they are given."""

    def __init__(self, config: TransactionCoordinatorConfig | None = None) -> None:
        self.clock = VirtualClock()
        self.log = MemoryCoordinatorLog()
        self.config = config or with_defaults(TransactionCoordinatorConfig)
        self.brokers = MarkedBrokers()
        self.has_ids = True
        self.feature_level = 0
        self.partition_count = PARTITIONS
        """Number of partitions of `__transaction_state` that the coordinator sees."""
        self._ids = count(1000)
        self.epoch = 0
        self.coordinator = self.restart()

    def restart(self) -> TransactionCoordinator:
        """Lose everything but the log, and load it in the next epoch."""
        if self.epoch:
            self.coordinator.stop()
        self.epoch += 1
        self.markers = Markers(self.brokers, self.clock)
        self.coordinator = TransactionCoordinator(
            self.log,
            self.clock,
            self.config,
            lambda: self.partition_count,
            self._next_id,
            self.markers,
            lambda: self.feature_level,
            Notices(VirtualClock()),
        )
        for partition in range(PARTITIONS):
            self.coordinator.load(partition, self.epoch)
        self.coordinator.start()
        self.clock.advance()
        while self.coordinator.runtime.is_loading:
            self.clock.advance()
        return self.coordinator

    def find(self, transaction: Transaction) -> None:
        """Restart with a log in which the id is this."""
        record = CoordinatorRecord(TransactionLogKey(NAME), value_of(transaction, self.feature_level))
        key, value = TRANSACTION_SERDE.serialize(record)
        batch = build_batch([Record(0, self.clock.now_ms(), key, value)])
        self.log.append(self.coordinator.partition_of(NAME), batch, self.clock.now_ms())
        self.restart()

    def find_the_last_epoch(self) -> Producer:
        """Restart with an id whose producer, 1000, has no further epoch."""
        last = self.init().producer
        transaction = self.transaction()
        assert transaction is not None
        self.find(replace(transaction, producer_epoch=LAST_EPOCH))
        return Producer(last.id, LAST_EPOCH)

    def find_open_in_the_fencing_epoch(self) -> Producer:
        """Restart with a transaction that is open in the epoch which nobody should be given."""
        self.begin()
        transaction = self.transaction()
        assert transaction is not None
        self.find(replace(transaction, producer_epoch=FENCING_EPOCH))
        return Producer(transaction.producer_id, FENCING_EPOCH)

    def _next_id(self) -> Promise[int | None]:
        return Promise.resolved(next(self._ids) if self.has_ids else None)

    def transaction(self, name: str = NAME) -> Transaction | None:
        """The id as it is in memory after this iteration of the event loop."""
        self.clock.advance()
        found = None
        for _, shard in self.coordinator.runtime.active():
            shard.check_invariants()
            found = found or shard.transactions.get(name)
        return found

    def state_of(self, name: str) -> str:
        """The state of an id, as clients are told."""
        transaction = self.transaction(name)
        assert transaction is not None
        return transaction.state.label

    @property
    def described(self) -> str:
        """The state of the id that is not named, as DescribeTransactions tells it."""
        transaction = self.coordinator.describe(NAME).transaction
        assert transaction is not None
        return transaction.state.label

    @property
    def state(self) -> str:
        """State of the default transactional id."""
        return self.state_of(NAME)

    def ask_init(self, expected: Producer | None = None, name: str = NAME) -> Promise[ProducerAnswer]:
        """Send InitProducerId and return the promise of its answer."""
        return self.coordinator.initialize(InitRequest(name, TIMEOUT_MS, expected))

    def init(self, expected: Producer | None = None, name: str = NAME) -> ProducerAnswer:
        """InitProducerId, answered at once."""
        answer = self.ask_init(expected, name).value
        self.clock.advance()
        return answer

    def begin(self) -> Producer:
        """Make an id with a transaction of two partitions."""
        producer = self.init().producer
        assert self.add(producer) == ErrorCode.NONE
        return producer

    def add(
        self, producer: Producer, *partitions: TopicPartition, name: str = NAME, client_version: int = 0
    ) -> ErrorCode:
        """AddPartitionsToTxn, of A and B unless others are named."""
        return self.coordinator.add_partitions(name, producer, partitions or (A, B), client_version).value

    def ask_end(
        self, producer: Producer, *, commits: bool = True, client_version: int = 0
    ) -> Promise[ProducerAnswer]:
        """Send EndTxn and return the promise of its answer."""
        return self.coordinator.end(EndRequest(NAME, producer, commits, client_version))

    def end(self, producer: Producer, *, commits: bool = True, client_version: int = 0) -> ProducerAnswer:
        """EndTxn, answered at once; its markers have set out then."""
        answer = self.ask_end(producer, commits=commits, client_version=client_version).value
        self.clock.advance()
        return answer
