"""One cleaning from beginning to end: read the newest keys, copy what stays (Kafka's Cleaner.doClean).

A generator over the file port, so that it can run in another process, or in small steps in this one. It only
reads the log and writes `.cleaned` files; whoever runs it puts them in their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.log.cleaner.batches import BatchCleaner
from kcompat.log.cleaner.grouping import group
from kcompat.log.cleaner.job import Damaged, Failed, Finished, GroupCleaned, Tally
from kcompat.log.cleaner.legacy import LegacyCleaner, keys_of_message
from kcompat.log.cleaner.offset_map import OffsetMap
from kcompat.log.cleaner.output import CleanedSegment
from kcompat.log.cleaner.spans import keys
from kcompat.log.cleaner.throttle import Throttle
from kcompat.log.cleaner.transactions import TransactionWalk
from kcompat.log.names import LOG, TXN_INDEX, segment_name
from kcompat.log.scan import walk_valid
from kcompat.log.txn_index import AbortedTransaction, TransactionIndex
from kcompat.records.batch import HEADER_SIZE, MAGIC, BatchHeader, read_header
from kcompat.records.compression import decompress
from kcompat.records.errors import RecordsDamaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.log.cleaner.job import CleanJob, Part, Report
    from kcompat.log.files import Files

    Steps = Iterator["Report | float"]

_STEP_BYTES: Final = 256 * 1024
_MAGIC_AT: Final = 16


def run(job: CleanJob, files: Files, monotonic_s: Callable[[], float]) -> Steps:
    """Do the job. Yields reports, and between them after some work the seconds to wait, mostly 0.0.

    Faults are reports too, and the last thing that is heard.
    """
    try:
        yield from _Cleaning(job, files, monotonic_s).run()
    except RecordsDamaged as damage:
        yield Damaged(str(damage))
    except OSError as error:
        yield Failed(error.errno or 0, f"{error.filename or job.directory}: {error.strerror}")


class _Cleaning:
    def __init__(self, job: CleanJob, files: Files, monotonic_s: Callable[[], float]) -> None:
        self._job = job
        self._files = files
        self._monotonic_s = monotonic_s
        self._throttle = Throttle(job.bytes_per_second)
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
        """All aborted transactions of the log: one with data here may end in any later segment."""
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
        """Fill the map from the first dirty offset up to the end, or until it is full."""
        job, newest = self._job, self._map
        transactions = TransactionWalk()
        transactions.expect(aborted)
        newest.latest = job.first_dirty_offset - 1
        ends = [part.base_offset for part in job.parts[1:]] + [job.rules.upper_offset]
        for part, end in zip(job.parts, ends, strict=True):
            if end <= job.first_dirty_offset:
                continue
            for batch in self._batches(part):
                yield from self._pay(len(batch))
                last_offset, entries = self._keys(batch, transactions)
                if last_offset < job.first_dirty_offset:
                    continue
                if not newest.put_all(entries):
                    return
                newest.latest = last_offset
            newest.latest = max(newest.latest, end - 1)  # offsets may be missing at the end (KAFKA-8764)

    def _keys(self, batch: memoryview, transactions: TransactionWalk) -> tuple[int, list[tuple[bytes, int]]]:
        """The last offset of a batch, and its keys from the first dirty offset on; none of aborted data."""
        first_dirty = self._job.first_dirty_offset
        if batch[_MAGIC_AT] < MAGIC:
            return keys_of_message(batch, self._job.rules.max_message_bytes, first_dirty)
        header = read_header(batch)
        gone = transactions.is_discardable(batch, header)
        if gone or header.is_control or header.last_offset < first_dirty:
            return header.last_offset, []
        body = self._unpack(batch, header)
        found = keys(body, header.record_count, header.base_offset)
        return header.last_offset, [
            (key, offset) for key, offset in found if key is not None and offset >= first_dirty
        ]

    def _unpack(self, batch: memoryview, header: BatchHeader) -> bytes:
        packed = batch[HEADER_SIZE : header.size]
        return b"".join(decompress(header.codec, packed, self._job.rules.max_message_bytes))

    # -- what stays ---------------------------------------------------------------------------------------

    def _clean_part(
        self, part: Part, batches: BatchCleaner, transactions: TransactionWalk, output: CleanedSegment
    ) -> Steps:
        legacy = LegacyCleaner(self._job, self._map, part)
        tally = self._tally
        for batch in self._batches(part):
            if batch[_MAGIC_AT] < MAGIC:
                kept, count = legacy.clean(batch)
            else:
                header = read_header(batch)
                kept, count = batches.clean(batch, header), header.record_count
            tally.bytes_read += len(batch)
            tally.records_read += count
            if kept is not None:
                tally.bytes_kept += len(kept.data)
                tally.records_kept += kept.records
                output.append(kept)
            for entry in transactions.kept:
                output.append_aborted(entry)
            transactions.kept.clear()
            yield from self._pay(len(batch) + (len(kept.data) if kept else 0))

    def _batches(self, part: Part) -> Iterator[memoryview]:
        """The batches of a segment as it was when the job was made. Raises RecordsDamaged at one that is not
        whole.
        """
        name = segment_name(part.base_offset, LOG)
        done = 0
        file = self._files.open_existing(f"{self._job.directory}/{name}")
        for position, batch in walk_valid(file, part.size):
            yield batch
            done = position + len(batch)
        if done != part.size:
            raise RecordsDamaged(f"{name} is damaged at byte {done}")

    def _pay(self, size: int) -> Iterator[float]:
        """Take a breath after every so many bytes, a longer one where a rate is set."""
        self._unpaid += size
        if self._unpaid >= _STEP_BYTES:
            wait_s = self._throttle.wait_s(self._unpaid, self._monotonic_s())
            self._unpaid = 0
            yield wait_s
