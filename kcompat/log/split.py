"""Splitting a segment whose offsets are further from its base than an index entry can express (KAFKA-6264).

Kafka's cleaner before 2.0 could leave such a segment behind. The parts replace it like the result of a
compaction: `startup` finishes or undoes an interrupted split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.log.files import pread_all
from kcompat.log.names import CLEANED, LOG, SWAP, segment_name

if TYPE_CHECKING:
    from kcompat.log.files import Files, OpenFile

_PIECE: Final = 1 << 20


class SegmentOverflowError(Exception):
    """A batch is too far from the segment's base offset; the batch at `position` is itself sound."""

    def __init__(self, base_offset: int, position: int) -> None:
        super().__init__(f"segment {base_offset} reaches too far at byte {position}")
        self.base_offset = base_offset
        self.position = position


def split_segment(files: Files, directory: str, base_offset: int, position: int) -> None:
    """Split a segment in two at `position`.

    The log must be loaded again afterwards. OSError passes through.
    """
    path = _path(directory, base_offset)
    whole = files.open_readonly(path)
    size = files.size(path) or 0
    second = int.from_bytes(pread_all(whole, 8, position), "big")
    modified_ms = files.modified_ms(path)
    parts = ((base_offset, 0, position), (second, position, size))
    for part, start, end in parts:
        copy = _path(directory, part) + CLEANED
        _copy(files, whole, start, end, copy)
        files.set_modified_ms(copy, modified_ms)
    for part in (second, base_offset):
        files.rename(_path(directory, part) + CLEANED, _path(directory, part) + SWAP)
    files.sync_directory(directory)


def _copy(files: Files, source: OpenFile, start: int, end: int, path: str) -> None:
    target = files.open(path)
    for at in range(start, end, _PIECE):
        files.write_all(target, pread_all(source, min(_PIECE, end - at), at), at - start)
    files.sync(target)


def _path(directory: str, base_offset: int) -> str:
    return f"{directory}/{segment_name(base_offset, LOG)}"
