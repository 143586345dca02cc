"""Loading of a shard from its partition's log: reads the log and replays the records in slices."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeAlias

from kcompat.coordinator.operation import ReplayPosition
from kcompat.protocol.schema import ProtocolViolation
from kcompat.records import scanning
from kcompat.records.batch import BatchHeader, iter_headers, read_records
from kcompat.records.control import ControlType, read_marker
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import HEADER_SIZE
from kcompat.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.coordinator.ports import CoordinatorLog, Serde, Shard

logger = logging.getLogger(__name__)

InBulk: TypeAlias = "Callable[[memoryview, int, Callable[[], object]], int] | None"
"""Function that applies many records of a batch together while a shard is loaded, or None if the shard has no
such function.

The arguments are the uncompressed records of a batch outside transactions, the base offset, and a function to
call before the first record is applied. The function applies records from the first one on, as far as it can,
and returns the position in the batch at which it stopped.
"""


class Loader:
    """One pass over the log of one partition, which replays its records into a shard.

    A shard may apply many records of a batch together. Of the other keyed records outside transactions, only
    the last one of each key in a slice and every tombstone are replayed: the topic is compacted, so the state
    cannot depend on the skipped records. Tombstones are replayed because one may also delete the records of
    an open transaction, which compaction leaves in the log.

    Unreadable records are skipped with a warning. As in Kafka the log is replayed up to its end, also above
    the high watermark: the shard serves readers only once everything is committed.
    """

    def __init__(
        self,
        log: CoordinatorLog,
        serde: Serde,
        shard: Shard,
        partition: int,
        *,
        is_keyed: bool = True,
        in_bulk: InBulk = None,
    ) -> None:
        self._log = log
        self._serde = serde
        self._shard = shard
        self._partition = partition
        self._is_keyed = is_keyed
        self._in_bulk = in_bulk
        self._name = f"{log.topic}-{partition}"
        self._next_offset = log.start_offset(partition)
        self._latest: dict[bytes, Record] = {}

    def step(self, max_bytes: int) -> bool:
        """Replay about `max_bytes` of the log; return True when the log end is reached."""
        data = memoryview(self._log.read(self._partition, self._next_offset, max_bytes))
        reached = self._next_offset
        for position, header in iter_headers(data):
            if header.next_offset <= self._next_offset:
                continue  # a read may begin with a batch that ends before the wanted offset
            self._replay_batch(data[position : position + header.size], header)
            self._next_offset = header.next_offset
        self._replay_latest()
        if self._next_offset == reached:
            return True
        self._shard.committed(self._next_offset - 1)
        return self._next_offset >= self._log.end_offset(self._partition)

    @property
    def last_offset(self) -> int:
        """Offset of the last replayed record."""
        return self._next_offset - 1

    def _replay_batch(self, batch: memoryview, header: BatchHeader) -> None:
        try:
            if header.is_transactional:
                self._replay_latest()
            if header.is_control:
                marker = read_marker(batch)
                if marker is not None:
                    commit = marker.type == ControlType.COMMIT
                    self._shard.replay_end_transaction(header.producer_id, commit, header.base_offset)
                return
            for record in self._one_by_one(batch, header):
                if header.is_transactional or not self._is_keyed:
                    self._replay_record(record, header.producer_id)
                else:
                    self._note_latest(record.key or b"", record)
        except RecordsDamaged as damage:
            logger.warning("Skipped a batch of %s at offset %d: %s", self._name, header.base_offset, damage)

    def _one_by_one(self, batch: memoryview, header: BatchHeader) -> Iterator[Record]:
        """Yield the records of a batch that follow those which the shard has applied together."""
        records, taken = batch[HEADER_SIZE:], 0
        if self._in_bulk is not None and not (header.is_transactional or header.codec):
            taken = self._in_bulk(records, header.base_offset, self._replay_latest)
        if not taken:
            yield from read_records(batch)
            return
        for fields in scanning.read_records((records[taken:],), header.base_offset, header.base_timestamp):
            yield Record(*fields)

    def _note_latest(self, key: bytes, record: Record) -> None:
        known = self._latest.get(key)
        if known is not None:
            if known.value is None:
                self._replay_latest()
            else:
                del self._latest[key]  # re-insert: keys stay in the order of their last records
        self._latest[key] = record

    def _replay_latest(self) -> None:
        for record in self._latest.values():
            self._replay_record(record, producer_id=-1)
        self._latest.clear()

    def _replay_record(self, record: Record, producer_id: int) -> None:
        try:
            parsed = self._serde.deserialize(record.key or b"", record.value)
        except ProtocolViolation as damage:
            logger.warning("Skipped the record of %s at offset %d: %s", self._name, record.offset, damage)
            return
        if parsed is None:
            logger.warning(
                "Skipped a record of %s with an unknown key at offset %d", self._name, record.offset
            )
            return
        self._shard.replay(parsed, ReplayPosition(record.offset, producer_id))
