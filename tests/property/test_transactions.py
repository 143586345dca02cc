"""Transactional ids as a rule-based machine.

Producers come, are fenced and come back, add partitions, commit, abort, ask again, and keep silent; leaders
write markers late, or not at all; the coordinator is slow, fails, restarts.

After every step the states follow one another as they may, epochs only rise, what was decided stays decided,
and replaying the log gives exactly what the live coordinator has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.coordinator import TransactionCoordinatorConfig
from kcompat.transaction.requests import EndRequest, InitRequest, Producer
from support.coordinator_state import kept_of_transactions, replayed_transactions
from support.decisions import Decisions
from support.default_settings import with_defaults
from support.fuzzing import examples
from support.group_machine import SlowLogMachine
from support.transaction_coordinators import PARTITIONS, TransactionFixture

if TYPE_CHECKING:
    from kcompat.promise import Promise
    from kcompat.transaction.requests import ProducerAnswer
    from kcompat.transaction.transaction import Transaction

NAMES = ("one", "two")
PLACES = (("t", 0), ("t", 1), ("__consumer_offsets", 3))
TIMEOUT_MS = 5_000
RETENTION_MS = 1_000_000
CONFIG = with_defaults(
    TransactionCoordinatorConfig,
    abort_interval_ms=1_000,
    expiry_interval_ms=RETENTION_MS,
    retention_ms=RETENTION_MS,
)


class Client:
    """A producer as far as its coordinator can see it; `version` is its `transaction.version`."""

    def __init__(self, name: str, version: int) -> None:
        self.name = name
        self.version = version
        self.producer = Producer()
        self.committing: Producer | None = None
        """Identity of the producer when it began to commit, until it knows the outcome; it may only repeat
        the request.
        """


class Transactions(SlowLogMachine):
    def __init__(self) -> None:
        super().__init__()
        self.fixture = TransactionFixture(CONFIG)
        self.log = self.fixture.log
        self.clients = [Client(name, version) for name in NAMES for version in (0, 2)]
        self.decisions = [Decisions() for _ in range(PARTITIONS)]
        self.read = [0] * PARTITIONS
        """So many batches of each partition."""

    def teardown(self) -> None:
        """Once nothing is in its way any more, all that is open ends."""
        fixture = self.fixture
        fixture.log.error = ErrorCode.NONE
        fixture.log.release()
        fixture.brokers.errors.clear()
        fixture.brokers.leaders.clear()
        fixture.brokers.is_reachable = True
        fixture.brokers.release()
        fixture.clock.advance(TIMEOUT_MS + 2_000)
        self.what_is_decided_stays_decided()
        assert not [each for decisions in self.decisions for each in decisions.open()]

    # --- what producers do

    @rule(index=st.integers(0, 3), knows_itself=st.booleans())
    def init(self, index: int, knows_itself: bool) -> None:
        client = self.clients[index]
        expected = client.producer if knows_itself and client.producer.id >= 0 else None
        client.committing = None
        asked = self.fixture.coordinator.initialize(InitRequest(client.name, TIMEOUT_MS, expected))
        self.hear(client, asked)

    @rule(index=st.integers(0, 3), places=st.frozensets(st.sampled_from(PLACES), min_size=1))
    def add(self, index: int, places: frozenset[tuple[str, int]]) -> None:
        client = self.clients[index]
        answer = self.fixture.coordinator.add_partitions(client.name, client.producer, places, client.version)

        def heard(error: ErrorCode) -> None:
            if error == ErrorCode.NONE and not self.held:
                found = self.fixture.coordinator.verify(client.name, client.producer, places)
                assert set(found.values()) == {ErrorCode.NONE}

        answer.then(heard)

    @rule(index=st.integers(0, 3), commits=st.booleans())
    def end(self, index: int, commits: bool) -> None:
        client = self.clients[index]
        producer = client.producer
        asked = self.fixture.coordinator.end(EndRequest(client.name, producer, commits, client.version))
        if not self.held:
            self.hear(client, asked)

    @rule(index=st.integers(0, 3), commits=st.booleans())
    def end_as_before(self, index: int, commits: bool) -> None:
        """A request that was on its way for long: of the epoch before."""
        client = self.clients[index]
        before = Producer(client.producer.id, client.producer.epoch - 1)
        if before.epoch >= 0:
            self.fixture.coordinator.end(EndRequest(client.name, before, commits, client.version))

    def hear(self, client: Client, asked: Promise[ProducerAnswer]) -> None:
        def heard(answer: ProducerAnswer) -> None:
            if answer.error == ErrorCode.NONE:
                assert answer.producer.id >= client.producer.id
                client.producer = answer.producer

        asked.then(heard)

    # --- what happens to the coordinator and to those who write markers

    @rule(ms=st.sampled_from([1, 100, 1_000, TIMEOUT_MS + 1_000]))
    def time_passes(self, ms: int) -> None:
        self.fixture.clock.advance(ms)

    @precondition(lambda self: not self.held)
    @rule()
    def ids_expire(self) -> None:
        self.fixture.clock.advance(2 * RETENTION_MS)

    @rule(
        place=st.sampled_from(PLACES),
        error=st.sampled_from(
            [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS]
        ),
    )
    def markers_fail(self, place: tuple[str, int], error: ErrorCode) -> None:
        self.fixture.brokers.errors[place] = error

    @rule(place=st.sampled_from(PLACES), leader=st.sampled_from([1, 2, -1, None]))
    def leaders_change(self, place: tuple[str, int], leader: int | None) -> None:
        self.fixture.brokers.leaders[place] = leader

    @rule(is_reachable=st.booleans())
    def brokers_hide(self, is_reachable: bool) -> None:
        self.fixture.brokers.is_reachable = is_reachable

    @rule(holds=st.booleans())
    def markers_wait(self, holds: bool) -> None:
        if holds:
            self.fixture.brokers.hold()
        else:
            self.fixture.brokers.release()

    @rule(
        error=st.sampled_from(
            [
                ErrorCode.NONE,
                ErrorCode.NOT_ENOUGH_REPLICAS,
                ErrorCode.MESSAGE_TOO_LARGE,
                ErrorCode.KAFKA_STORAGE_ERROR,
            ]
        )
    )
    def appends_fail(self, error: ErrorCode) -> None:
        self.fixture.log.error = error

    @rule(has_ids=st.booleans())
    def ids_run_out(self, has_ids: bool) -> None:
        self.fixture.has_ids = has_ids

    @precondition(lambda self: not self.held)
    @rule()
    def coordinator_restarts(self) -> None:
        before = self.live()
        self.fixture.restart()
        assert self.live().keys() == before.keys()
        for name, transaction in before.items():
            now = self.live()[name]
            assert now == transaction or (transaction.state.is_prepared and now.state.is_over)

    # --- what always holds

    def live(self) -> dict[str, Transaction]:
        """Each id as it is in memory."""
        shards = [shard for _, shard in self.fixture.coordinator.runtime.active()]
        return {name: each for shard in shards for name, each in kept_of_transactions(shard).items()}

    @invariant()
    def the_machine_is_sound(self) -> None:
        for _, shard in self.fixture.coordinator.runtime.active():
            shard.check_invariants()

    @invariant()
    def replay_gives_the_live_state(self) -> None:
        replayed: dict[str, Transaction] = {}
        for partition in range(PARTITIONS):
            replayed |= kept_of_transactions(replayed_transactions(self.fixture.log, partition))
        assert replayed == self.live()

    @invariant()
    def what_is_decided_stays_decided(self) -> None:
        for partition, decisions in enumerate(self.decisions):
            batches = self.fixture.log.batches.get(partition, [])
            for batch in batches[self.read[partition] :]:
                decisions.read(memoryview(batch))
            self.read[partition] = len(batches)

        made = {each for decisions in self.decisions for each in decisions.made}
        for _, marker in self.fixture.brokers.written:
            assert (marker.producer.id, marker.producer.epoch, marker.commits) in made
        self.fixture.brokers.written.clear()


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=examples(60), stateful_step_count=50, deadline=None)
