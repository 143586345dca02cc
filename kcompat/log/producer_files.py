"""Saving and loading producer snapshots, and replaying the batches after them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kcompat.log.checkpoints import CheckpointDamaged, read_optional
from kcompat.log.names import SNAPSHOT, offset_of, segment_name
from kcompat.log.producer_snapshot import decode_snapshot, encode_snapshot
from kcompat.log.producers import ProducerState
from kcompat.records.control import read_marker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.log.files import Files
    from kcompat.log.segment import Segment

logger = logging.getLogger(__name__)


def snapshot_path(directory: str, offset: int) -> str:
    """Return the path of the snapshot for records below `offset`."""
    return f"{directory}/{segment_name(offset, SNAPSHOT)}"


def snapshot_offsets(files: Files, directory: str) -> list[int]:
    """Return the offsets that have a snapshot, ascending."""
    names = [name for name in files.list(directory) if name.endswith(SNAPSHOT)]
    return [offset for offset in map(offset_of, names) if offset is not None]


def save_snapshot(files: Files, directory: str, offset: int, state: ProducerState) -> None:
    """Store the state of all producers for records below `offset`."""
    files.replace_file(snapshot_path(directory, offset), encode_snapshot(state.entries.values()), sync=False)


def renew_snapshot(files: Files, directory: str, offset: int, state: ProducerState) -> None:
    """Store the state of all producers, unless the existing snapshot has the same content."""
    if read_optional(files, snapshot_path(directory, offset)) != encode_snapshot(state.entries.values()):
        save_snapshot(files, directory, offset, state)


def remove_snapshots(files: Files, directory: str, *, above: int) -> None:
    """Remove the snapshots at offsets higher than `above`."""
    offsets = snapshot_offsets(files, directory)
    files.remove(snapshot_path(directory, offset) for offset in offsets if offset > above)


def load_producers(
    files: Files, directory: str, segments: Sequence[Segment], end_offset: int
) -> ProducerState:
    """Return the producer state at `end_offset`, from the newest readable snapshot and later batches."""
    first = segments[0].base_offset
    state, start = ProducerState(), first
    for offset in reversed(snapshot_offsets(files, directory)):
        if first <= offset <= end_offset:
            path = snapshot_path(directory, offset)
            try:
                entries = decode_snapshot(files.read_file(path))
            except CheckpointDamaged as damage:
                logger.warning("%s is damaged (%s): deleting it and using an older one", path, damage)
                files.remove([path])
            else:
                state, start = ProducerState(entries), offset
                break
    if start < end_offset:
        _replay(state, segments, start)
    state.end_offset = end_offset
    return state


def _replay(state: ProducerState, segments: Sequence[Segment], start: int) -> None:
    """Update `state` with the batches from `start` on, up to the log end."""
    for number, segment in enumerate(segments):
        if number + 1 < len(segments) and segments[number + 1].base_offset <= start:
            continue
        for position, header in segment.headers(start):
            if header.producer_id < 0:
                continue
            marker = None
            if header.is_control:
                marker = read_marker(memoryview(segment.read_at(position, header.size)))
            state.note(header, marker, header.base_offset, header.max_timestamp)
