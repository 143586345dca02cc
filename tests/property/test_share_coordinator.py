"""The share coordinator as a rule-based machine, and the combination of batches record by record.

Share partitions are initialised, read, written, deleted; the log is slow, fails, loses its head; the broker
restarts. After every step a coordinator loaded from the log knows what the live one does, and readers see
what a model says that writes record.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from msgspec.structs import replace

from kcompat.protocol.errors import ErrorCode
from kcompat.share.batches import StateBatch, combine
from kcompat.share.coordinator.shard import ShareCoordinatorConfig
from kcompat.share.persister import StateWrite
from support.default_settings import with_defaults
from support.fuzzing import examples
from support.group_machine import SlowLogMachine
from support.share_coordinators import KEY, TOPIC, ShareCoordinatorFixture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.promise import Promise
    from kcompat.share.key import SharePartitionKey
    from kcompat.share.persister import Outcome

OFFSETS = 30
PRUNE_MS, COLD_MS = 1_000, 3_000
CONFIG = with_defaults(
    ShareCoordinatorConfig,
    updates_per_snapshot=3,
    prune_interval_ms=PRUNE_MS,
    cold_snapshot_interval_ms=COLD_MS,
)

offsets = st.integers(0, OFFSETS - 1)
keys = st.sampled_from([KEY, KEY._replace(partition=1), KEY._replace(group_id="other")])
epochs = st.integers(-1, 3)


@st.composite
def state_batches(draw: st.DrawFn) -> list[StateBatch]:
    """Batches in any order, overlapping or not."""
    batches = []
    for _ in range(draw(st.integers(0, 5))):
        first, last = sorted((draw(offsets), draw(offsets)))
        batches.append(StateBatch(first, last, draw(st.sampled_from([0, 2, 4])), draw(st.integers(1, 3))))
    return batches


def record_by_record(batches: Iterable[StateBatch], start: int) -> dict[int, tuple[int, int]]:
    """Delivery count and state of each offset, the furthest delivery counting."""
    records: dict[int, tuple[int, int]] = {}
    for batch in batches:
        for offset in range(max(batch.first_offset, start), batch.last_offset + 1):
            delivery = (batch.delivery_count, batch.delivery_state)
            records[offset] = max(records.get(offset, delivery), delivery)
    return records


@given(state_batches(), state_batches(), st.integers(-1, OFFSETS))
def test_combining_keeps_the_furthest_delivery_of_each_record(
    known: list[StateBatch], news: list[StateBatch], start: int
) -> None:
    combined = combine(known, news, start)
    assert record_by_record(combined, -1) == record_by_record(known + news, start)
    for before, after in pairwise(combined):
        assert before.last_offset < after.first_offset
        assert before.last_offset + 1 < after.first_offset or before[2:] != after[2:]
    assert combine(combined, (), start) == combined


class ShareCoordinators(SlowLogMachine):
    def __init__(self) -> None:
        super().__init__()
        self.fixture = ShareCoordinatorFixture(CONFIG, state_partitions=2)
        self.log = self.fixture.log
        self.model: dict[SharePartitionKey, tuple[int, dict[int, tuple[int, int]]]] = {}
        """Start offset and records by the writes that found no error, committed or not."""

    def appends(self, ask: Callable[[], Promise[Outcome]]) -> bool:
        """Whether a request is followed by a record, committed or not."""
        before = self.fixture.log.appends
        ask()
        return self.fixture.log.appends > before

    @rule(key=keys, state_epoch=epochs, start=st.integers(-1, OFFSETS))
    def initialize(self, key: SharePartitionKey, state_epoch: int, start: int) -> None:
        if self.appends(lambda: self.fixture.coordinator.initialize(key, state_epoch, start)):
            self.model[key] = (start, {})

    @rule(key=keys, state=epochs, leader=epochs, start=st.integers(-1, OFFSETS), batches=state_batches())
    def write(
        self, key: SharePartitionKey, state: int, leader: int, start: int, batches: list[StateBatch]
    ) -> None:
        write = StateWrite(state, leader, start, 0, tuple(batches))
        if self.appends(lambda: self.fixture.coordinator.write(key, write)):
            known_start, records = self.model[key]
            start = max(known_start, start)
            for offset, delivery in record_by_record(batches, -1).items():
                records[offset] = max(records.get(offset, delivery), delivery)
            self.model[key] = (start, {at: delivery for at, delivery in records.items() if at >= start})

    @rule(key=keys, leader=epochs)
    def read(self, key: SharePartitionKey, leader: int) -> None:
        answer = self.fixture.coordinator.read(key, leader)
        if answer.done and answer.value.error == ErrorCode.NONE and not self.held:
            start, records = self.model[key]
            assert answer.value.start_offset == start
            assert record_by_record(answer.value.batches, -1) == records

    @rule(key=keys)
    def delete(self, key: SharePartitionKey) -> None:
        if self.appends(lambda: self.fixture.coordinator.delete(key)):
            self.model.pop(key, None)

    @rule()
    def delete_topic(self) -> None:
        self.fixture.coordinator.forget_topics({TOPIC})
        self.model.clear()

    @rule(elapsed=st.sampled_from([PRUNE_MS, COLD_MS]))
    def time_passes(self, elapsed: int) -> None:
        self.fixture.clock.advance(elapsed)

    @rule(key=keys, error=st.sampled_from([ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR]))
    def an_append_fails(self, key: SharePartitionKey, error: ErrorCode) -> None:
        self.fixture.log.error = error
        answer = self.fixture.coordinator.initialize(key, 9, 0)
        assert not answer.done or answer.value.error != ErrorCode.NONE
        self.fixture.log.error = ErrorCode.NONE

    @rule()
    def restart(self) -> None:
        """Restart the coordinator: requests that wait for their commit are lost, their records are not."""
        self.fixture.restart()
        self.fixture.log.release()
        self.held = False

    @invariant()
    def the_log_tells_all(self) -> None:
        for _, shard in self.fixture.coordinator.runtime.active():
            shard.check_invariants()
        live = self.fixture.states()
        assert {key: state.start_offset for key, state in live.items()} == {
            key: start for key, (start, _) in self.model.items()
        }
        loaded = ShareCoordinatorFixture(CONFIG, state_partitions=2)
        loaded.log.batches = self.fixture.log.batches  # all of it committed
        loaded.restart()
        fences = dict.fromkeys(("fencing_leader_epoch", "fencing_state_epoch"), 0)
        if self.fixture.log.deletions:  # what an initialisation did not lower went with the head of the log
            live = {key: replace(state, **fences) for key, state in live.items()}
            assert {key: replace(state, **fences) for key, state in loaded.states().items()} == live
        else:
            assert loaded.states() == live
        loaded.coordinator.stop()


TestShareCoordinators = ShareCoordinators.TestCase
TestShareCoordinators.settings = settings(max_examples=examples(50), stateful_step_count=40, deadline=None)
