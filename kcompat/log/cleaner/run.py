"""One cleaning of a log: find each key's newest offset, copy the records to keep (Kafka's Cleaner.doClean).

The cleaning is a generator over the file port, so that it can run in another process, or in small steps in
this one. It only reads the log and writes `.cleaned` files; its caller replaces the old segments with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.log.cleaner.batches import BatchCleaner, unpack
from kcompat.log.cleaner.job import Damaged, Failed, Finished, GroupCleaned, Tally
from kcompat.log.cleaner.legacy import LegacyCleaner, keys_of_message
from kcompat.log.cleaner.offset_map import OffsetMap
from kcompat.log.cleaner.output import CleanedSegment
from kcompat.log.cleaner.reading import SegmentReader
from kcompat.log.cleaner.selection import group
from kcompat.log.cleaner.transactions import TransactionWalk
from kcompat.log.names import LOG, TXN_INDEX, segment_name
from kcompat.log.txn_index import AbortedTransaction, TransactionIndex
from kcompat.records.batch import read_header
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import MAGIC, MAGIC_AT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.log.cleaner.job import CleanJob, Report, SegmentPart
    from kcompat.log.files import Files

    Steps = Iterator["Report | float"]

_STEP_BYTES: Final = 256 * 1024


def run(job: CleanJob, files: Files, monotonic_s: Callable[[], float]) -> Steps:
    """Clean a log. Yields reports, and after each step of work the seconds to wait before the next step.

    The last report is `Finished`, or `Damaged` or `Failed` after a fault. Without a rate limit waits are 0.0.
    """
    try:
        yield from _Run(job, files, monotonic_s).run()
    except RecordsDamaged as damage:
        yield Damaged(str(damage))
    except OSError as error:
        yield Failed(error.errno or 0, f"{error.filename or job.directory}: {error.strerror}")


class _Run:
    def __init__(self, job: CleanJob, files: Files, monotonic_s: Callable[[], float]) -> None:
        self._job = job
        self._files = files
        self._monotonic_s = monotonic_s
        self._throttle = CleanerThrottle(job.bytes_per_second)
        self._tally = Tally()
        self._map = OffsetMap(job.map_bytes, job.load_factor)
        self._unpaid = 0

    def run(self) -> Steps:
        job = self._job
        aborted = self._read_aborted()
        yield from self._build_map(aborted)
        end_offset = self._map.latest + 1
        self._tally.keys = self._map.size
        transactions = TransactionWalk()
        transactions.expect(aborted)
        batches = BatchCleaner(job.rules, self._map, transactions)
        parts = tuple(part for part in job.parts if part.base_offset < end_offset)
        for members in group(parts, job):
            output = CleanedSegment(self._files, job, members[0].base_offset)
            for part in members:
                yield from self._clean_part(part, batches, transactions, output)
            output.finish(members[-1].modified_ms)
            yield GroupCleaned(tuple(part.base_offset for part in members), output.size)
        yield Finished(end_offset, self._tally)

    def _read_aborted(self) -> list[AbortedTransaction]:
        """Return all aborted transactions of the log; the index of any later segment may name one with data
        here.
        """
        found: list[AbortedTransaction] = []
        for name in self._files.list(self._job.directory):
            if name.endswith(TXN_INDEX):
                index = TransactionIndex(self._files, f"{self._job.directory}/{name}")
                if not index.load():
                    raise RecordsDamaged(f"the transaction index {name} is damaged")
                found += index.entries()
        return found

    # -- the newest offset of every key -------------------------------------------------------------------

    def _build_map(self, aborted: list[AbortedTransaction]) -> Steps:
        """Fill the map of each key's newest offset, from the first dirty offset on, until it is full."""
        job, newest = self._job, self._map
        transactions = TransactionWalk()
        transactions.expect(aborted)
        newest.latest = job.first_dirty_offset - 1
        ends = [part.base_offset for part in job.parts[1:]] + [job.rules.upper_offset]
        for part, end in zip(job.parts, ends, strict=True):
            if end <= job.first_dirty_offset:
                continue
            reader = self._open(part)
            while reader.more():
                before = reader.position
                reader.at = newest.put_plain(reader.chunk, reader.at, job.first_dirty_offset)
                if reader.position == before and not self._put(reader.take(), transactions):
                    return
                yield from self._pay(reader.position - before)
            newest.latest = max(newest.latest, end - 1)  # offsets may be missing at the end (KAFKA-8764)

    def _put(self, batch: memoryview, transactions: TransactionWalk) -> bool:
        """Put the keys of a batch into the offset map; return False if they may not fit.

        Batches of aborted transactions and control batches are skipped.
        """
        newest, first_dirty = self._map, self._job.first_dirty_offset
        max_message_bytes = self._job.rules.max_message_bytes
        if batch[MAGIC_AT] < MAGIC:
            last_offset, entries = keys_of_message(batch, max_message_bytes, first_dirty)
            fits = newest.put_all(entries)
        else:
            header = read_header(batch)
            gone = transactions.is_discardable(batch, header)
            last_offset, fits = header.last_offset, True
            if not (gone or header.is_control or last_offset < first_dirty):
                body = unpack(batch, header, max_message_bytes)
                fits = newest.put_batch(body, header.record_count, header.base_offset, first_dirty)
        if fits:
            newest.latest = max(newest.latest, last_offset)
        return fits

    # -- the records to keep ------------------------------------------------------------------------------

    def _clean_part(
        self, part: SegmentPart, batches: BatchCleaner, transactions: TransactionWalk, output: CleanedSegment
    ) -> Steps:
        legacy = LegacyCleaner(self._job, self._map, part)
        tally = self._tally
        reader = self._open(part)
        while reader.more():
            before, size = reader.position, output.size
            reader.at, read, count, data, notes = batches.clean_plain(reader.chunk, reader.at)
            if reader.position == before:
                batch = reader.take()
                if batch[MAGIC_AT] < MAGIC:
                    kept, read = legacy.clean(batch)
                else:
                    header = read_header(batch)
                    kept, read = batches.clean(batch, header), header.record_count
                if kept is not None:
                    count, data = kept.records, kept.data
                    notes = [(len(data), kept.last_offset, kept.timestamp)]
            output.append(data, notes)
            for entry in transactions.kept:
                output.append_aborted(entry)
            transactions.kept.clear()
            tally.records_read += read
            tally.records_kept += count
            tally.bytes_read += reader.position - before
            tally.bytes_kept += output.size - size
            yield from self._pay(reader.position - before + output.size - size)

    def _open(self, part: SegmentPart) -> SegmentReader:
        """Open the log file of a segment, up to its size when the job was made."""
        name = segment_name(part.base_offset, LOG)
        return SegmentReader(self._files.open_existing(f"{self._job.directory}/{name}"), name, part.size)

    def _pay(self, size: int) -> Iterator[float]:
        """Count `size` bytes read or written; after each `_STEP_BYTES` yield the seconds to wait for the
        job's rate limit.
        """
        self._unpaid += size
        if self._unpaid >= _STEP_BYTES:
            wait_s = self._throttle.wait_s(self._unpaid, self._monotonic_s())
            self._unpaid = 0
            yield wait_s


class CleanerThrottle:
    """Limit on the bytes per second of a cleaning (`log.cleaner.io.max.bytes.per.second`). Unused time is
    saved up for one second at most.
    """

    __slots__ = ("_paid_until_s", "_rate")

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = max(bytes_per_second, 1.0)
        self._paid_until_s = 0.0

    def wait_s(self, size: int, now_s: float) -> float:
        """Return the seconds to wait after `size` more bytes at the monotonic time `now_s`."""
        self._paid_until_s = max(self._paid_until_s, now_s - 1.0) + size / self._rate
        return max(0.0, self._paid_until_s - now_s)
