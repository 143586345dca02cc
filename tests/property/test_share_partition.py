"""A share partition as a rule-based machine, beside a model that keeps each record by itself.

Members fetch, say what became of their records, go; locks end; writes fail; the log loses its head; leaders
change. No record is ever with two members, none is lost: each ends acknowledged or archived, and until then
it is available or somebody's. The start offset only grows.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kcompat.share.batches import StateBatch, combine
from kcompat.share.partition.acknowledgement import Acknowledgement, AcknowledgeType
from kcompat.share.partition.acquisition import Acquired, AcquisitionSpec, FetchedBatch
from kcompat.share.partition.in_flight import NO_MEMBER, RecordState, SpanChange
from kcompat.share.partition.limits import AcquireMode, ShareLimits
from kcompat.share.partition.share_partition import SharePartition
from kcompat.share.persister import Outcome, StateWrite
from support.fuzzing import examples

MEMBERS = ("a", "b", "c")
LOCK_MS = 1000
LIMITS = ShareLimits(20, 4, LOCK_MS, renew_acknowledge=True)
AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
OUTCOMES = {
    AcknowledgeType.GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}

members = st.sampled_from(MEMBERS)
kinds = st.sampled_from(AcknowledgeType)


class Record(NamedTuple):
    """One record in flight, as the model has it."""

    state: RecordState
    deliveries: int
    member: str = NO_MEMBER
    locked_until: int = 0
    change: SpanChange | None = None
    before: str = NO_MEMBER
    """Whose it was before the change."""


class SharePartitions(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.log: list[FetchedBatch] = []
        self.log_end = 0
        self.log_start = 0
        self.start = 0
        self.records: dict[int, Record] = {}
        """Records that were fetched, or stored, since the last change of the leader."""
        self.stored: tuple[StateBatch, ...] = ()
        self.stored_start = 0
        self.changes: list[tuple[SpanChange, StateWrite]] = []
        self.epoch = 0
        self.partition = SharePartition(0, 0, 0, ())

    # --- the log

    @initialize()
    def some_records(self) -> None:
        for size in (1, 5, 3):
            self.produce(size, 0)

    @rule(size=st.integers(1, 6), hole=st.sampled_from([0, 0, 0, 2]))
    def produce(self, size: int, hole: int) -> None:
        """A record batch, before it offsets of which compaction left nothing."""
        first = self.log_end + hole
        self.log.append(FetchedBatch(first, first + size - 1))
        self.log_end = first + size

    @precondition(lambda self: len(self.log) > 1)
    @rule(count=st.integers(1, 2))
    def the_log_loses_its_head(self, count: int) -> None:
        self.log = self.log[min(count, len(self.log) - 1) :]
        self.log_start = self.log[0].first
        if self.log_start > self.partition.start_offset:
            for offset in [offset for offset in self.records if offset < self.log_start]:
                self.records[offset] = Record(RecordState.ARCHIVED, self.records[offset].deliveries)
        self.partition.log_starts_at(self.log_start)

    @precondition(lambda self: len(self.log) > 2)
    @rule(index=st.integers(1, 10))
    def a_batch_is_compacted_away(self, index: int) -> None:
        if 0 < index < len(self.log) - 1:
            del self.log[index]

    def read(self, offset: int, batches: int) -> list[FetchedBatch]:
        first = bisect_left([batch.last for batch in self.log], offset)
        return self.log[first : first + batches]

    # --- what members do

    @rule(
        member=members,
        batches=st.integers(1, 4),
        records=st.integers(0, 12),
        batch_size=st.integers(1, 6),
        mode=st.sampled_from(AcquireMode),
        is_aborted=st.booleans(),
    )
    def fetch(
        self, member: str, batches: int, records: int, batch_size: int, mode: AcquireMode, is_aborted: bool
    ) -> None:
        offset = self.partition.next_fetch_offset
        assert offset >= self.log_start
        fetched = self.read(offset, batches)
        if not self.partition.can_acquire(LIMITS):
            assert self.partition.end_offset - self.partition.start_offset >= LIMITS.max_record_locks
        aborted = fetched[:1] if is_aborted else []
        wish = AcquisitionSpec(member, offset, records, batch_size, mode)
        end = self.partition.end_offset
        acquired = self.partition.acquire(wish, fetched, aborted, LIMITS, self.now)
        if fetched and records and offset < fetched[0].first and self.has_room(offset, end):
            self.archive_free(offset, fetched[0].first - 1)
        self.hand_over(member, acquired, fetched, aborted, end)
        if mode is AcquireMode.RECORD_LIMIT and not is_aborted:
            assert sum(each.last_offset - each.first_offset + 1 for each in acquired) <= records
        if fetched and records and self.has_room(offset, end) and not is_aborted:
            assert acquired

    def has_room(self, offset: int, end: int) -> bool:
        return end - self.start < LIMITS.max_record_locks or offset < end

    def archive_free(self, first: int, last: int) -> None:
        for offset, record in self.records.items():
            if first <= offset <= last and record.state is AVAILABLE:
                self.records[offset] = Record(RecordState.ARCHIVED, record.deliveries)

    def hand_over(
        self,
        member: str,
        acquired: list[Acquired],
        fetched: list[FetchedBatch],
        aborted: list[FetchedBatch],
        end: int,
    ) -> None:
        """Each acquired record was free, and is the member's now. What went in flight with it is free."""
        first = fetched[0].first if fetched else end
        for offset in range(max(first, end), self.partition.end_offset):
            self.records[offset] = Record(AVAILABLE, 0)
        behind = -1
        for each in acquired:
            assert behind < each.first_offset <= each.last_offset
            behind = each.last_offset
            for offset in range(each.first_offset, each.last_offset + 1):
                record = self.records.get(offset, Record(AVAILABLE, 0))
                assert (record.state, record.change) == (AVAILABLE, None)
                assert each.delivery_count == record.deliveries + 1 <= LIMITS.delivery_count_limit
                self.records[offset] = Record(ACQUIRED, record.deliveries + 1, member, self.now + LOCK_MS)
        for batch in aborted:
            for offset in range(batch.first, batch.last + 1):
                if offset in self.records:
                    self.adopt(offset)

    def adopt(self, offset: int) -> None:
        """Take over the state of an acquired record of an aborted batch, which the machine has archived
        without a message.
        """
        before = self.records[offset]
        after = Record(RecordState.ARCHIVED, before.deliveries)
        for span in self.partition.spans():
            if span.first <= offset <= span.last:
                assert span.state in (RecordState.ARCHIVED, before.state)
                if span.state is before.state:
                    return
                after = Record(span.state, span.delivery_count)
        self.records[offset] = after

    @rule(member=members, first=st.integers(0, 25), size=st.integers(1, 8), kind=kinds)
    def say_the_same(self, member: str, first: int, size: int, kind: AcknowledgeType) -> None:
        first += self.start - 3
        self.say(member, [Acknowledgement(first, first + size - 1, [kind])])

    @rule(member=members, kind=kinds)
    def say_of_all(self, member: str, kind: AcknowledgeType) -> None:
        mine = [offset for offset, record in self.records.items() if record.member == member]
        self.say(member, [Acknowledgement(offset, offset, [kind]) for offset in sorted(mine)])

    @rule(member=members, data=st.data())
    def say_different_things(self, member: str, data: st.DataObject) -> None:
        mine = sorted(offset for offset, record in self.records.items() if record.member == member)
        if mine:
            first = data.draw(st.sampled_from(mine))
            last = first
            while last + 1 in mine:
                last += 1
            types = [data.draw(kinds) for _ in range(first, last + 1)]
            self.say(member, [Acknowledgement(first, last, types)])

    def say(self, member: str, said: list[Acknowledgement]) -> None:
        expected = dict(self.records)
        refused = not all(self.apply(member, each, expected) for each in said)
        begun = self.partition.acknowledge(member, said, LIMITS, self.now)
        assert isinstance(begun, Outcome) == refused
        if isinstance(begun, SpanChange):
            for offset, record in expected.items():
                if record.change is PENDING:
                    expected[offset] = record._replace(change=begun)
            self.records = expected
            self.begin(begun)
            return
        for offset, record in expected.items():
            old = self.records[offset]
            if record.locked_until != old.locked_until:
                self.records[offset] = old._replace(locked_until=record.locked_until)
            if record.change is PENDING:
                self.take_back(offset, record, self.records)

    def apply(self, member: str, said: Acknowledgement, records: dict[int, Record]) -> bool:
        """Do what is said to a copy of the records; False where it is refused, and the rest undone."""
        if said.last_offset < self.start:
            return True
        in_flight = [
            offset
            for offset in range(max(said.first_offset, self.start), said.last_offset + 1)
            if offset in records
        ]
        if not in_flight or in_flight[-1] != said.last_offset:
            return False
        position = {
            offset: index for index, offset in enumerate(range(said.first_offset, said.last_offset + 1))
        }
        runs = list(said.runs())
        for first, last, kind in runs:
            for offset in in_flight:
                if not first <= offset <= last:
                    continue
                record = records[offset]
                if record.change is not None or record.state is not ACQUIRED or record.member != member:
                    return False
                assert len(said.types) == 1 or said.types[position[offset]] == kind
                if kind is AcknowledgeType.RENEW:
                    records[offset] = record._replace(locked_until=self.now + LOCK_MS)
                    continue
                state = OUTCOMES[kind]
                if state is AVAILABLE and record.deliveries >= LIMITS.delivery_count_limit:
                    state = RecordState.ARCHIVED
                records[offset] = Record(
                    state, record.deliveries, NO_MEMBER, record.locked_until, PENDING, member
                )
        return True

    @rule(member=members)
    def leave(self, member: str) -> None:
        change = self.partition.release(member, LIMITS)
        for offset, record in self.records.items():
            if record.state is ACQUIRED and record.member == member:
                state = (
                    RecordState.ARCHIVED if record.deliveries >= LIMITS.delivery_count_limit else AVAILABLE
                )
                self.records[offset] = Record(
                    state, record.deliveries, NO_MEMBER, record.locked_until, change, member
                )
        self.begin(change)

    # --- what is stored

    def begin(self, change: SpanChange) -> None:
        if change.batches:
            self.changes.append((change, self.partition.write(change.batches)))
        else:
            assert not change.spans

    def store(self, write: StateWrite) -> None:
        self.stored_start = max(self.stored_start, write.start_offset)
        self.stored = combine(self.stored, write.batches, self.stored_start)

    @precondition(lambda self: self.changes)
    @rule(index=st.integers(0, 5), is_stored=st.sampled_from([True, True, False]))
    def a_write_ends(self, index: int, is_stored: bool) -> None:
        change, write = self.changes.pop(index % len(self.changes))
        if is_stored:
            self.store(write)
        self.partition.settle(change, LIMITS, self.now, is_stored=is_stored)
        for offset, record in list(self.records.items()):
            if record.change is change:
                if is_stored:
                    self.records[offset] = record._replace(change=None, before=NO_MEMBER)
                else:
                    self.take_back(offset, record, self.records)

    def take_back(self, offset: int, record: Record, records: dict[int, Record]) -> None:
        if record.locked_until > self.now:
            records[offset] = Record(ACQUIRED, record.deliveries, record.before, record.locked_until)
        else:
            records[offset] = self.freed(record)

    def freed(self, record: Record) -> Record:
        is_last = record.deliveries >= LIMITS.delivery_count_limit
        return Record(RecordState.ARCHIVED if is_last else AVAILABLE, record.deliveries)

    @rule(elapsed=st.sampled_from([1, LOCK_MS // 2, LOCK_MS]))
    def time_passes(self, elapsed: int) -> None:
        end = self.now + elapsed
        while self.partition.lock_ends_ms is not None and self.partition.lock_ends_ms <= end:
            self.now = max(self.partition.lock_ends_ms, self.now)
            batches = self.partition.expire(LIMITS, self.now)
            if batches:
                self.store(self.partition.write(batches))
        self.now = end
        for offset, record in self.records.items():
            if record.state is ACQUIRED and record.locked_until <= end:
                self.records[offset] = self.freed(record)

    @rule(are_stored=st.booleans())
    def another_leads(self, are_stored: bool) -> None:
        """Change the leader: state that was not stored is forgotten, deliveries included."""
        for _, write in self.changes if are_stored else ():
            self.store(write)
        self.changes = []
        self.epoch += 1
        self.start = self.stored_start
        self.partition = SharePartition(0, self.epoch, self.stored_start, self.stored)
        self.records = {offset: Record(AVAILABLE, 0) for offset in self.range_of_stored()}
        for first, last, state, deliveries in self.stored:
            for offset in range(first, last + 1):
                self.records[offset] = Record(RecordState(state), deliveries)
        if self.log_start > self.partition.start_offset:
            for offset in [offset for offset in self.records if offset < self.log_start]:
                self.records[offset] = Record(RecordState.ARCHIVED, self.records[offset].deliveries)
            self.partition.log_starts_at(self.log_start)

    def range_of_stored(self) -> range:
        return range(self.stored_start, self.stored[-1].last_offset + 1 if self.stored else 0)

    # --- what always holds

    @invariant()
    def each_record_is_as_in_the_model(self) -> None:
        partition = self.partition
        partition.check_invariants()
        assert partition.start_offset >= self.start
        self.start = partition.start_offset
        for offset, record in list(self.records.items()):
            if offset < self.start:
                assert record.state not in (AVAILABLE, ACQUIRED)
                assert record.change is None
                del self.records[offset]
        seen = {
            offset: (span.state, span.delivery_count, span.member_id, span.change)
            for span in partition.spans()
            for offset in range(max(span.first, self.start), span.last + 1)
        }
        assert seen == {
            offset: (record.state, record.deliveries, record.member, record.change)
            for offset, record in self.records.items()
        }
        done = sum(record.state not in (AVAILABLE, ACQUIRED) for record in self.records.values())
        assert partition.write(()).delivery_complete_count == done
        free = [offset for offset, record in self.records.items() if record.state is AVAILABLE]
        free = [offset for offset in free if self.records[offset].change is None]
        assert partition.next_fetch_offset == min(free, default=partition.end_offset)

    def teardown(self) -> None:
        """Accept all records that are left, and come to the end of the log."""
        for change, write in self.changes:
            self.store(write)
            self.partition.settle(change, LIMITS, self.now, is_stored=True)
        for _ in range(2000):
            if self.partition.start_offset >= self.log_end:
                return
            self.now += LOCK_MS
            self.partition.expire(LIMITS, self.now)
            offset = self.partition.next_fetch_offset
            wish = AcquisitionSpec("last", offset, 100, 100, AcquireMode.BATCH_OPTIMIZED)
            fetched = self.read(offset, 100)
            acquired = self.partition.acquire(wish, fetched, (), LIMITS, self.now)
            said = [Acknowledgement(each.first_offset, each.last_offset, [1]) for each in acquired]
            change = self.partition.acknowledge("last", said, LIMITS, self.now)
            assert isinstance(change, SpanChange)
            self.partition.settle(change, LIMITS, self.now, is_stored=True)
        raise AssertionError(f"{self.partition} does not come to the end of the log")


PENDING = SpanChange()
"""In the place of a change whose fate the model foresees."""

TestSharePartitions = SharePartitions.TestCase
TestSharePartitions.settings = settings(max_examples=examples(100), stateful_step_count=50, deadline=None)
