"""The files that a dump of some paths reads, and the reader of each."""

# Paths are strings, as in all modules below `kcompat.log`.
# ruff: noqa: PTH100, PTH118, PTH119

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from kcompat.log.checkpoints import CheckpointDamaged, parse_epochs, read_optional
from kcompat.log.dump.batches import Order
from kcompat.log.dump.indexes import Batches, dump_offset_index, dump_time_index, dump_txn_index
from kcompat.log.dump.internal import decoder_of
from kcompat.log.dump.segment import Depth, dump_segment
from kcompat.log.dump.small import SMALL_FILES, dump_small, dump_snapshot
from kcompat.log.files import FILES
from kcompat.log.names import (
    CLEANED,
    DELETED,
    INDEX,
    LEADER_EPOCH_CHECKPOINT,
    LOG,
    SEGMENT_SUFFIXES,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TXN_INDEX,
    offset_of,
    parse_partition_directory,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.log.dump.rows import Row

_TEMPORARY = (DELETED, CLEANED, SWAP)


class DumpFile(msgspec.Struct, frozen=True):
    """A file to dump, with its size in bytes when it was listed."""

    path: str
    size: int


def files_in(paths: Sequence[str]) -> list[DumpFile]:
    """Return the files to dump for these files and directories.

    A directory, of logs or of one partition, contributes its files with known names, segments in the order of
    their offsets. A file that is named itself is always included. Raises OSError.
    """
    found: list[DumpFile] = []
    for path in paths:
        if FILES.is_directory(path):
            found.extend(_files_below(path.rstrip("/") or "/"))
        else:
            found.append(_dump_file(path))
    return found


def _files_below(directory: str) -> Iterator[DumpFile]:
    directories = []
    for name in FILES.list(directory):
        path = os.path.join(directory, name)
        if FILES.is_directory(path):
            directories.append(name)
        elif name in SMALL_FILES or _suffix(name) is not None:
            with suppress(FileNotFoundError):  # a running broker has removed the file
                yield _dump_file(path)
    for name in sorted(directories, key=_in_order):
        yield from _files_below(os.path.join(directory, name))


def _dump_file(path: str) -> DumpFile:
    size = FILES.size(path)
    if size is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return DumpFile(path, size)


def _in_order(name: str) -> tuple[str, int]:
    """Return the key that sorts partition directories by their number."""
    return parse_partition_directory(name) or (name, -1)


def _suffix(name: str) -> str | None:
    """Return the suffix that tells the kind of segment file or snapshot; None for other files."""
    for temporary in _TEMPORARY:
        name = name.removesuffix(temporary)
    if offset_of(name) is None:
        return None
    return next((suffix for suffix in (*SEGMENT_SUFFIXES, SNAPSHOT) if name.endswith(suffix)), None)


class Dumper:
    """Dumper of files one after another; segments of one partition count as one log.

    `topic` names the topic of the records, where it is not to be taken from the name of the directory.
    """

    def __init__(self, depth: Depth, topic: str | None = None) -> None:
        self._depth = depth
        self._topic = topic
        self._directory: str | None = None
        self._order = Order()

    def rows(self, file: DumpFile) -> Iterator[Row]:
        """Yield the rows of one file.

        Raises OSError, and ValueError for a file whose name is of no known kind.
        """
        directory, name = os.path.split(file.path)
        if name in SMALL_FILES:
            yield from dump_small(name, FILES.read_file(file.path))
            return
        suffix, offset = _suffix(name), offset_of(name)
        if suffix is None or offset is None:
            raise ValueError(f"{file.path} is no file of a log, by its name")
        if suffix == SNAPSHOT:
            yield from dump_snapshot(FILES.read_file(file.path), offset)
        elif suffix == LOG:
            yield from self._segment(file, directory, name, offset)
        else:
            yield from self._index(file, suffix, offset)

    def _segment(self, file: DumpFile, directory: str, name: str, base_offset: int) -> Iterator[Row]:
        is_live = name.endswith(LOG)
        if not is_live or directory != self._directory:
            self._directory = directory if is_live else None
            self._order = Order(_known_epochs(directory) if is_live else None)
        parsed = parse_partition_directory(os.path.basename(os.path.abspath(directory)))
        topic = self._topic or (parsed[0] if parsed else "")
        opened = FILES.open_readonly(file.path)
        yield from dump_segment(opened, file.size, base_offset, self._order, decoder_of(topic), self._depth)

    def _index(self, file: DumpFile, suffix: str, base_offset: int) -> Iterator[Row]:
        opened = FILES.open_readonly(file.path)
        log = self._log_beside(file.path, suffix) if self._depth.verify else None
        if suffix == INDEX:
            yield from dump_offset_index(opened, file.size, base_offset, log)
        elif suffix == TIME_INDEX:
            yield from dump_time_index(opened, file.size, base_offset, log)
        else:
            assert suffix == TXN_INDEX, "every suffix of a segment is known"
            yield from dump_txn_index(opened, file.size, log)

    def _log_beside(self, path: str, suffix: str) -> Batches | None:
        head, tail = os.path.split(path)
        beside = os.path.join(head, tail.replace(suffix, LOG, 1))
        size = FILES.size(beside)
        return None if size is None else Batches(FILES.open_readonly(beside), size)


def _known_epochs(directory: str) -> set[int] | None:
    """Return the epochs in the leader-epoch-checkpoint; None if the file is missing or damaged."""
    data = read_optional(FILES, os.path.join(directory, LEADER_EPOCH_CHECKPOINT))
    with suppress(CheckpointDamaged):
        return {epoch for epoch, _ in parse_epochs(data or b"")} or None
    return None
