"""Rows of `kcompat log dump` for files, and batches to put into the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.log.dump.rows import DAMAGE, Row
from kcompat.log.dump.segment import Depth
from kcompat.log.dump.tree import Dumper, files_in
from kcompat.records.batch import build_batch
from kcompat.records.record import Record

if TYPE_CHECKING:
    from pathlib import Path

VERIFY = Depth(verify=True)
DEEP = Depth(deep=True)


def rows_of(path: Path, depth: Depth = VERIFY, topic: str | None = None) -> list[Row]:
    """Everything that a dump says of a file or a directory."""
    dumper = Dumper(depth, topic)
    return [row for file in files_in([str(path)]) for row in dumper.rows(file)]


def damage_in(path: Path, depth: Depth = VERIFY) -> list[tuple[int, str]]:
    """Where there is damage, and what a dump says of it."""
    return [(row.at, row.fields["message"]) for row in rows_of(path, depth) if row.kind == DAMAGE]


def batch_at(offset: int, *values: bytes, epoch: int = 0, **options: Any) -> bytes:
    """A stored batch with a record for each value."""
    records = [Record(0, 1000 + offset, b"k", value) for value in values or (b"v",)]
    return bytes(build_batch(records, base_offset=offset, leader_epoch=epoch, **options))
