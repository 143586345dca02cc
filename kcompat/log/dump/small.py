"""Dump of the small files of a log directory: checkpoints, identities, producer snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.checkpoints import (
    CheckpointDamaged,
    parse_clean_shutdown,
    parse_epochs,
    parse_offsets,
    parse_partition_metadata,
    parse_properties,
)
from kcompat.log.dump.rows import Row, damage
from kcompat.log.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCH_CHECKPOINT,
    LOG_STARTS,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINTS,
)
from kcompat.log.producer_snapshot import decode_snapshot
from kcompat.protocol.uuids import uuid_to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def dump_small(name: str, data: bytes) -> Iterator[Row]:
    """Yield the rows of a file with one of the names in `SMALL_FILES`."""
    try:
        yield from _DUMPS[name](data)
    except CheckpointDamaged as fault:
        yield damage(0, str(fault))


def dump_snapshot(data: bytes, offset: int) -> Iterator[Row]:
    """Yield the rows of a producer snapshot for the records below `offset`."""
    try:
        entries = decode_snapshot(data)
    except CheckpointDamaged as fault:
        yield damage(0, str(fault))
        return
    for entry in entries:
        fields = {
            "producerId": entry.producer_id,
            "producerEpoch": entry.epoch,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnFirstOffset": entry.current_txn_start_offset,
            "lastTimestamp": entry.last_timestamp,
            "firstSequence": entry.batches[-1].first_sequence if entry.batches else -1,
            "lastSequence": entry.last_sequence,
            "lastOffset": entry.last_offset,
            "offsetDelta": entry.batches[-1].offset_delta if entry.batches else 0,
        }
        yield Row("producer", 0, fields)
        if entry.last_offset >= offset:
            yield damage(
                0, f"producer {entry.producer_id} wrote offset {entry.last_offset}, above the snapshot"
            )


def _offsets(data: bytes) -> Iterator[Row]:
    for (topic, partition), offset in parse_offsets(data).items():
        yield Row("offset", 0, {"topic": topic, "partition": partition, "offset": offset})


def _epochs(data: bytes) -> Iterator[Row]:
    for epoch, start in parse_epochs(data):
        yield Row("epoch", 0, {"epoch": epoch, "startOffset": start})


def _partition_metadata(data: bytes) -> Iterator[Row]:
    yield Row("topic", 0, {"topicId": uuid_to_text(parse_partition_metadata(data))})


def _properties(data: bytes) -> Iterator[Row]:
    yield Row("meta", 0, dict(sorted(parse_properties(data).items())))


def _clean_shutdown(data: bytes) -> Iterator[Row]:
    yield Row("clean", 0, {"brokerEpoch": parse_clean_shutdown(data)})


_DUMPS: dict[str, Callable[[bytes], Iterator[Row]]] = {
    RECOVERY_POINTS: _offsets,
    LOG_STARTS: _offsets,
    HIGH_WATERMARKS: _offsets,
    CLEANER_OFFSETS: _offsets,
    LEADER_EPOCH_CHECKPOINT: _epochs,
    PARTITION_METADATA: _partition_metadata,
    META_PROPERTIES: _properties,
    CLEAN_SHUTDOWN: _clean_shutdown,
}
SMALL_FILES = frozenset(_DUMPS)
