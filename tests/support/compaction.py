"""A compacted log in a temporary directory, cleaned in this process, and what must be in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.append import BY_COORDINATOR, WITHOUT_PROOF
from kcompat.log.cleaner.cleaner import make_job
from kcompat.log.cleaner.job import Damaged, Failed, Finished, GroupCleaned
from kcompat.log.cleaner.run import run
from kcompat.log.cleaner.selection import assess
from kcompat.records.batch import build_batch, read_header, read_records
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record
from support.default_settings import cleaner_settings
from support.log_harness import LogHarness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.log.append import AppendResult
    from kcompat.log.cleaner.job import CleanJob, Report
    from kcompat.log.config import CleanerConfig
    from kcompat.records.batch import BatchHeader
    from kcompat.records.compression import Codec

Pair = tuple[bytes | None, bytes | None]
CLEANER = cleaner_settings(dedupe_buffer_bytes=1 << 20)


class CompactionHarness(LogHarness):
    """A log harness that writes keys and values, ends transactions, and cleans. Times are in ms."""

    def put(
        self,
        *pairs: Pair,
        timestamp: int = 1000,
        codec: Codec | int = 0,
        producer: tuple[int, int, int] = (-1, -1, -1),
        transactional: bool = False,
    ) -> AppendResult:
        """Append one batch with these keys and values; `producer` is id, epoch and sequence."""
        records = [Record(0, timestamp + number, key, value) for number, (key, value) in enumerate(pairs)]
        producer_id, epoch, sequence = producer
        batch = build_batch(
            records,
            codec=codec,  # type: ignore[arg-type]
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
        view = memoryview(batch)
        return self.log.append_as_leader(view, read_header(view), 0, timestamp, WITHOUT_PROOF)

    def end_transaction(
        self, producer_id: int, epoch: int, *, commit: bool, timestamp: int = 1000
    ) -> AppendResult:
        """Append a marker."""
        marker = EndTransactionMarker(ControlType.COMMIT if commit else ControlType.ABORT, 0)
        batch = memoryview(
            build_marker(
                marker, producer_id=producer_id, producer_epoch=epoch, timestamp=timestamp, leader_epoch=0
            )
        )
        return self.log.append_as_leader(batch, read_header(batch), 0, timestamp, BY_COORDINATOR)

    def roll(self, now_ms: int = 2000) -> None:
        """Close the active segment, so that it can be cleaned."""
        self.log.roll(now_ms)

    def job(
        self, first_dirty: int = 0, now_ms: int = 2000, config: CleanerConfig = CLEANER
    ) -> CleanJob | None:
        """Return the job that cleans the log from `first_dirty` on; None if nothing is to be cleaned."""
        log = self.log
        stable = log.producer_state.last_stable_offset(log.log_start_offset, log.log_end_offset)
        cleanable = assess(list(log.local.segments), log.config, first_dirty, stable, now_ms)
        return make_job(log, cleanable, config, now_ms) if cleanable.dirty_bytes else None

    def clean(
        self, first_dirty: int = 0, now_ms: int = 2000, config: CleanerConfig = CLEANER
    ) -> tuple[int | None, list[Report]]:
        """Clean once from `first_dirty` on and put the result in place: the new clean offset, all reports."""
        job = self.job(first_dirty, now_ms, config)
        reports: list[Report] = []
        if job is None:
            return first_dirty, reports
        for report in run(job, self.log.context.files, lambda: 0.0):
            if isinstance(report, float):
                continue
            reports.append(report)
            self.obey(report)
            match report:
                case Finished(end_offset):
                    return end_offset, reports
                case Damaged() | Failed():
                    return None, reports
        raise AssertionError("a cleaning ends with a last word")

    def obey(self, report: Report) -> None:
        """Put cleaned segments in place, as a broker does."""
        if isinstance(report, GroupCleaned):
            log = self.log
            log.replace_segments([s for s in log.local.segments if s.base_offset in report.base_offsets])

    def batches(self) -> list[tuple[BatchHeader, bytes]]:
        """Headers and bytes of all batches, as a fetch delivers them."""
        log, offset, found = self.log, self.log.log_start_offset, []
        while offset < log.log_end_offset:
            data = log.read(offset, 1 << 20, log.log_end_offset)
            if data is None:
                break
            view = memoryview(data.read())
            while len(view) >= 61:
                header = read_header(view)
                if header.size > len(view):
                    break
                if header.last_offset >= offset:
                    found.append((header, bytes(view[: header.size])))
                    offset = header.next_offset
                view = view[header.size :]
        return found

    def records(self) -> list[Record]:
        """All records, those of markers left out."""
        return [
            record
            for header, batch in self.batches()
            if not header.is_control
            for record in read_records(memoryview(batch))
        ]

    def pairs(self) -> Sequence[tuple[int, bytes | None, bytes | None]]:
        """Offset, key and value of all records."""
        return [(record.offset, record.key, record.value) for record in self.records()]
