"""Logs that change in any order and go back to their images, against lists of what they should have."""

from __future__ import annotations

import shutil
import tempfile
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from kcompat.log.append import WITHOUT_PROOF
from kcompat.log.files import FILES
from kcompat.log.images import LogImage
from kcompat.log.manager import LogManager
from kcompat.log.rewinding import MarkedLog, rewind
from kcompat.records.batch import iter_headers, read_header
from kcompat.worker import ThreadWorker
from support.default_settings import log_settings
from support.fuzzing import examples
from support.log_harness import make_batch
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from kcompat.log.log import Log

Seen = tuple[int, int, int, int, int]
"""Base offset, last offset, leader epoch, producer id and largest timestamp of a batch."""


class Model(NamedTuple):
    """The content that a log should have."""

    topic_id: bytes
    start: int
    batches: list[Seen]
    producers: dict[int, int]
    """The last sequence number of each producer, by id."""


class Mark(NamedTuple):
    logs: dict[tuple[str, int], MarkedLog]
    models: dict[tuple[str, int], Model]


class ImagesMachine(RuleBasedStateMachine):
    """Two directories; `models` are what their logs should be."""

    marks: Bundle[Mark] = Bundle("marks")

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.clock, self.random = VirtualClock(), Random(0)
        self.models: dict[tuple[str, int], Model] = {}
        self.epoch = 0
        self.numbers = 0

    @initialize(segment_bytes=st.sampled_from([300, 2000]))
    def start(self, segment_bytes: int) -> None:
        self.config = log_settings(
            segment_bytes=segment_bytes, index_interval_bytes=100, retention_ms=-1, retention_bytes=1500
        )
        self.open()
        self.make(0)

    def open(self) -> None:
        directories = [self.home / "a", self.home / "b"]
        self.manager = LogManager(directories, self.clock, FILES, ThreadWorker, self.random)
        self.manager.open(1, "c", self.config)

    def teardown(self) -> None:
        self.manager.abandon()
        shutil.rmtree(self.home)

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def log(self, index: int) -> Log | None:
        return self.manager.get("t", index)

    # -- changes ---------------------------------------------------------------------------------------------

    def make(self, index: int) -> None:
        topic_id = self.number().to_bytes(16, "big")
        self.manager.create("t", index, topic_id, self.config)
        self.models["t", index] = Model(topic_id, 0, [], {})

    @rule(index=st.integers(0, 1), again=st.booleans())
    def delete(self, index: int, again: bool) -> None:
        if self.log(index) is not None:
            self.manager.delete("t", index)
            del self.models["t", index]
        if again:
            self.make(index)

    @rule(
        index=st.integers(0, 1),
        batches=st.lists(
            st.tuples(st.integers(1, 3), st.sampled_from([-1, -1, 7, 8])), min_size=1, max_size=4
        ),
    )
    def append(self, index: int, batches: list[tuple[int, int]]) -> None:
        if self.log(index) is None:
            self.make(index)
        for count, producer_id in batches:
            self.append_one(index, count, producer_id)

    def append_one(self, index: int, count: int, producer_id: int) -> None:
        log, model = self.log(index), self.models["t", index]
        assert log is not None
        options = {}
        if producer_id >= 0:
            sequence = model.producers.get(producer_id, -1) + 1
            model.producers[producer_id] = sequence + count - 1
            options = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        timestamp = self.number()
        batch = memoryview(make_batch(count, timestamp=timestamp, **options))
        result = log.append_as_leader(batch, read_header(batch), self.epoch, 1000, WITHOUT_PROOF)
        assert result.error == 0
        model.batches.append((result.base_offset, result.last_offset, self.epoch, producer_id, timestamp))

    @rule(
        index=st.integers(0, 1), how=st.sampled_from(["epoch", "roll", "start", "retention"]), data=st.data()
    )
    def change(self, index: int, how: str, data: st.DataObject) -> None:
        log = self.log(index)
        if how == "epoch":
            self.epoch += 1
        elif log is not None:
            if how == "roll":
                log.roll(0)
            elif how == "start":
                log.delete_records_before(data.draw(st.integers(log.log_start_offset, log.log_end_offset)))
            else:
                log.delete_old_segments(0, log.log_end_offset)
            self.models["t", index] = self.models["t", index]._replace(start=log.log_start_offset)

    @rule(is_clean=st.booleans())
    def stop_and_start(self, is_clean: bool) -> None:
        """Images outlive the logs that they were made of."""
        self.clock.advance(100)
        if is_clean:
            self.manager.close()
        else:
            self.manager.abandon()
        self.open()

    # -- marks -----------------------------------------------------------------------------------------------

    @rule(target=marks, shared=st.booleans())
    def mark(self, shared: bool) -> Mark:
        there = self.last.logs if shared and hasattr(self, "last") else {}
        logs = {}
        for log in self.manager:
            key = log.topic, log.partition
            image = there[key].image if key in there and there[key].image.shows(log) else None
            image = image or LogImage(log, f"{self.home}/images/{self.number()}")
            logs[key] = MarkedLog(image, log.log_end_offset, self.manager.clean_offset(log))
        self.last = Mark(logs, deepcopy(self.models))
        return self.last

    @rule(mark=marks)
    def go_back(self, mark: Mark) -> None:
        old = list(self.manager)
        rewind(self.manager, mark.logs, self.config, 0)
        assert all(log.is_failed for log in old), "what still has a log cannot write"
        self.models = deepcopy(mark.models)

    # -- what must hold --------------------------------------------------------------------------------------

    @precondition(lambda self: hasattr(self, "manager"))
    @invariant()
    def logs_are_as_they_should_be(self) -> None:
        logs = {(log.topic, log.partition): log for log in self.manager}
        assert logs.keys() == self.models.keys()
        for key, log in logs.items():
            model = self.models[key]
            log.check_invariants()
            end = model.batches[-1][1] + 1 if model.batches else 0
            assert (log.topic_id, log.log_start_offset, log.log_end_offset) == (
                model.topic_id,
                model.start,
                end,
            )
            assert seen(log) == [batch for batch in model.batches if batch[1] >= model.start]
            assert {each.producer_id: each.last_sequence for each in log.producers} == model.producers


def seen(log: Log) -> list[Seen]:
    """All batches that reads from the log start on deliver."""
    found, offset = [], log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20, log.log_end_offset)
        assert data is not None
        for _, header in iter_headers(memoryview(data.read())):
            ids = header.leader_epoch, header.producer_id, header.max_timestamp
            found.append((header.base_offset, header.last_offset, *ids))
            offset = header.next_offset
    return found


TestImages = ImagesMachine.TestCase
TestImages.settings = settings(
    max_examples=examples(60),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
