"""A log against a list of batches: appends, reads, truncations, retention, stops and crashes in any order."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kcompat.log.names import LOG, segment_name
from kcompat.records.batch import iter_headers
from support.default_settings import log_settings
from support.fuzzing import examples
from support.log_harness import LogHarness, make_batch


class Batch(NamedTuple):
    base: int
    last: int
    epoch: int
    timestamp: int
    size: int


class LogMachine(RuleBasedStateMachine):
    """`batches` is what the log must hold, `start` where it begins."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.batches: list[Batch] = []
        self.start = 0
        self.end = 0
        self.epoch = 0
        self.sequence = 0

    @initialize(segment_bytes=st.sampled_from([300, 600, 2000]), interval=st.sampled_from([0, 100, 4096]))
    def create(self, segment_bytes: int, interval: int) -> None:
        config = log_settings(
            segment_bytes=segment_bytes, index_interval_bytes=interval, retention_ms=-1, retention_bytes=1500
        )
        self.harness = LogHarness(self.directory, config)

    def teardown(self) -> None:
        shutil.rmtree(self.directory)

    # -- changes ---------------------------------------------------------------------------------------------

    @rule(count=st.integers(1, 5), timestamp=st.integers(0, 2000), idempotent=st.booleans())
    def append(self, count: int, timestamp: int, idempotent: bool) -> None:
        options = {}
        if idempotent:
            options = {"producer_id": 1, "producer_epoch": self.epoch, "base_sequence": self.sequence}
            self.sequence += count
        result = self.harness.append(count, epoch=self.epoch, timestamp=timestamp, **options)
        assert (result.error, result.base_offset, result.last_offset) == (0, self.end, self.end + count - 1)
        size = len(make_batch(count))
        self.batches.append(Batch(self.end, self.end + count - 1, self.epoch, timestamp, size))
        self.end += count

    @rule()
    def new_leader_epoch(self) -> None:
        self.epoch += 1
        self.sequence = 0
        self.harness.log.epochs.begin(self.epoch, self.end)

    @rule()
    def roll(self) -> None:
        self.harness.log.roll(0)

    @precondition(lambda self: self.batches)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        bases = [batch.base for batch in self.batches if batch.base >= self.start]
        self.end = data.draw(st.sampled_from([*bases, self.end]))
        self.harness.log.truncate_to(self.end)
        self.batches = [batch for batch in self.batches if batch.last < self.end]
        self.new_leader_epoch()

    @precondition(lambda self: self.batches)
    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        self.start = data.draw(st.integers(self.start, self.end))
        self.harness.log.delete_records_before(self.start)

    @rule()
    def retain(self) -> None:
        log = self.harness.log
        log.delete_old_segments(0, self.end)
        assert self.start <= log.log_start_offset
        self.start = log.log_start_offset
        first = log.local.segments.base_offsets[0]
        self.batches = [batch for batch in self.batches if batch.base >= first]

    # -- stops and crashes -----------------------------------------------------------------------------------

    @rule()
    def stop_and_start(self) -> None:
        self.harness.log.close()
        self.harness.reopen(clean=True, log_start_offset=self.start)

    @rule()
    def kill_and_start(self) -> None:
        before = {producer.producer_id: producer.last_sequence for producer in self.harness.log.producers}
        self.harness.reopen(log_start_offset=self.start)
        after = {producer.producer_id: producer.last_sequence for producer in self.harness.log.producers}
        assert after == before

    @precondition(lambda self: self.batches)
    @rule(data=st.data())
    def tear_and_start(self, data: st.DataObject) -> None:
        """The machine lost its power: the active segment ends anywhere."""
        base = self.harness.log.local.segments.base_offsets[-1]
        path = self.harness.directory / segment_name(base, LOG)
        if not path.exists():
            return
        size = data.draw(st.integers(0, path.stat().st_size))
        with path.open("r+b") as file:
            file.truncate(size)
        kept = [batch for batch in self.batches if batch.base < base]
        for batch in self.batches[len(kept) :]:
            size -= batch.size
            if size < 0:
                break
            kept.append(batch)
        self.batches = kept
        self.end = kept[-1].last + 1 if kept and kept[-1].base >= base else base
        if self.end < self.start:
            self.batches, self.end = [], self.start
        self.harness.reopen(log_start_offset=self.start, recovery_point=data.draw(st.integers(0, base)))
        self.new_leader_epoch()

    # -- reads -----------------------------------------------------------------------------------------------

    @precondition(lambda self: self.start < self.end)
    @rule(data=st.data(), max_bytes=st.integers(0, 1000), min_one_batch=st.booleans())
    def read(self, data: st.DataObject, max_bytes: int, min_one_batch: bool) -> None:
        offset = data.draw(st.integers(self.start, self.end))
        upper = data.draw(st.integers(offset, self.end))
        found = self.harness.log.read(offset, max_bytes, upper, min_one_batch)
        expected = [batch for batch in self.batches if batch.last >= offset]
        if found is None:
            blocked = not expected or expected[0].last >= upper
            assert blocked or (max_bytes < expected[0].size and not min_one_batch)
            return
        content = memoryview(found.read())
        assert len(content) == len(found) > 0
        whole = [(header.base_offset, header.last_offset) for _, header in iter_headers(content)]
        assert whole == [(batch.base, batch.last) for batch in expected[: len(whole)]]
        assert all(last < upper for _, last in whole)
        if min_one_batch:
            assert whole
            assert len(content) <= max(max_bytes, expected[0].size)
        else:
            assert len(content) <= max_bytes

    @rule(timestamp=st.integers(0, 2001))
    def find_by_time(self, timestamp: int) -> None:
        found = self.harness.log.offset_for_timestamp(timestamp)
        later = [batch for batch in self.batches if batch.timestamp >= timestamp and batch.last >= self.start]
        assert (found and (found.offset, found.timestamp, found.leader_epoch)) == (
            (max(later[0].base, self.start), later[0].timestamp, later[0].epoch) if later else None
        )

    @rule()
    def find_newest(self) -> None:
        found = self.harness.log.max_timestamp_offset()
        newest = max(self.batches, key=lambda batch: batch.timestamp, default=None)
        assert (found and (found.offset, found.timestamp)) == (newest and (newest.base, newest.timestamp))

    @invariant()
    def holds_the_batches(self) -> None:
        if not hasattr(self, "harness"):
            return
        log = self.harness.log
        log.check_invariants()
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        wanted = [batch for batch in self.batches if batch.last >= self.start]
        assert self.harness.offsets() == [(batch.base, batch.last) for batch in wanted]
        for batch in wanted:
            assert log.epochs.epoch_for(max(batch.base, self.start)) == batch.epoch


TestLog = LogMachine.TestCase
TestLog.settings = settings(
    max_examples=examples(100),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
