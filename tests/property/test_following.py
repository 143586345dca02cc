"""Batches that are appended all at once give the same log as batches that are appended one by one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kcompat.log.files import Files
from kcompat.log.names import LOG
from kcompat.log.scan import walk
from kcompat.records.batch import build_batch
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.message_set import encode_message
from kcompat.records.record import Record
from support.default_settings import log_settings
from support.fuzzing import examples
from support.log_harness import LAST_EPOCH, LogHarness

if TYPE_CHECKING:
    from kcompat.log.files import OpenFile, Readable
    from kcompat.log.log import Log

DATA, IDEMPOTENT, TRANSACTIONAL, COMMIT, ABORT, OLD_0, OLD_1 = range(7)


class CountingFiles(Files):
    """Counts the writes into log files."""

    def __init__(self) -> None:
        self.writes = 0
        self._logs: list[OpenFile] = []

    def open(self, path: str) -> OpenFile:
        file = super().open(path)
        if path.endswith(LOG):
            self._logs.append(file)
        return file

    def write_all(self, file: OpenFile, data: Readable, position: int) -> None:
        self.writes += file in self._logs
        super().write_all(file, data, position)


@st.composite
def fetched(draw: st.DrawFn) -> list[bytes]:
    """Batches as a leader may have them: of any format and epoch, with gaps that compaction left."""
    kinds = draw(st.lists(st.integers(DATA, OLD_1), min_size=1, max_size=25))
    offset, epoch, sequence, batches = 0, 0, 0, []
    is_open = False
    for kind in kinds:
        offset += draw(st.sampled_from([0, 0, 0, 1, 50, 2**31]))
        epoch += draw(st.sampled_from([0, 0, 0, 1]))
        timestamp = draw(st.sampled_from([-1, 1000, 1001, 5000, 20_000]))
        count = draw(st.integers(1, 3))
        if kind in (OLD_0, OLD_1):
            batches.append(encode_message(offset, kind - OLD_0, 0, timestamp, b"k", b"old"))
            offset += 1
            continue
        if kind in (COMMIT, ABORT):
            if is_open:
                type_ = ControlType.COMMIT if kind == COMMIT else ControlType.ABORT
                marker = EndTransactionMarker(type_, coordinator_epoch=0)
                batch = build_marker(
                    marker, producer_id=7, producer_epoch=0, timestamp=timestamp, leader_epoch=epoch
                )
                batch[:8] = offset.to_bytes(8, "big")
                batches.append(bytes(batch))
                offset, is_open = offset + 1, False
            continue
        producer = {}
        if kind != DATA:
            producer = {"producer_id": 5 + kind, "producer_epoch": 0, "base_sequence": sequence}
            sequence += count
        is_open |= kind == TRANSACTIONAL
        records = [Record(0, timestamp, b"k", bytes(draw(st.integers(0, 200)))) for _ in range(count)]
        batches.append(
            bytes(
                build_batch(
                    records,
                    base_offset=offset,
                    leader_epoch=epoch,
                    transactional=kind == TRANSACTIONAL,
                    **producer,
                )
            )
        )
        offset += count
    assume(batches)
    return batches


def state_of(harness: LogHarness) -> tuple[object, ...]:
    """All that a log knows, and all that is on its disk after it was closed."""
    log: Log = harness.log
    log.check_invariants()
    by_time = [log.offset_for_timestamp(timestamp) for timestamp in (0, 1001, 5000, 20_000)]
    known = (
        log.log_end_offset,
        log.local.segments.base_offsets,
        log.epochs.cache.entries,
        sorted(log.producers, key=lambda producer: producer.producer_id),
        log.producer_state.first_open_offset,
        log.aborted_transactions(0, log.log_end_offset),
        by_time,
        [
            (segment.base_offset, *brief, segment.locate(brief[2]))
            for segment in log.local.segments
            if segment.size
            for brief in walk(segment.file, 0, segment.size)
        ],
    )
    log.close()
    return known, harness.files()


@settings(max_examples=examples(150), deadline=None)
@given(
    batches=fetched(),
    segment_bytes=st.sampled_from([300, 1000, 1 << 20]),
    index_bytes=st.sampled_from([24, 48, 1 << 20]),
    interval=st.sampled_from([0, 150, 4096]),
    segment_ms=st.sampled_from([500, 1 << 40]),
    torn=st.integers(0, 25),
)
def test_together_is_as_one_by_one(
    batches: list[bytes], segment_bytes: int, index_bytes: int, interval: int, segment_ms: int, torn: int
) -> None:
    config = log_settings(
        segment_bytes=segment_bytes,
        segment_index_bytes=index_bytes,
        index_interval_bytes=interval,
        segment_ms=segment_ms,
    )
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        single, whole = LogHarness(Path(one), config), LogHarness(Path(other), config)
        for batch in batches:
            assert not single.log.append_as_follower(
                memoryview(batch), leader_epoch=LAST_EPOCH, now_ms=1000
            ).error
        data = b"".join(batches) + batches[0][:torn]
        assert not whole.log.append_as_follower(memoryview(data), leader_epoch=LAST_EPOCH, now_ms=1000).error
        end = whole.log.log_end_offset
        assert state_of(whole) == state_of(single)
        assert whole.reopen().log_end_offset == end, "all of it is sound in the eyes of recovery"


@settings(max_examples=examples(30), deadline=None)
@given(batches=fetched())
def test_a_segment_is_written_to_once(batches: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as home:
        files = CountingFiles()
        harness = LogHarness(Path(home), log_settings(segment_bytes=1 << 20), files)
        assert not harness.log.append_as_follower(
            memoryview(b"".join(batches)), leader_epoch=LAST_EPOCH, now_ms=1000
        ).error
        assert files.writes == len(harness.log.local.segments)
