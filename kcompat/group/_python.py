"""The pure-Python implementation of `_native.c`, which loads committed offsets. Used through `bulk` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.records._python import Buffer
    from kcompat.topics import TopicPartition

Made = TypeVar("Made")
Offsets = dict["TopicPartition", Made]


def fill(
    records: Buffer, base_offset: int, find: Callable[[str], Offsets[Made]], make: Callable[..., Made], /
) -> int:
    """Load committed offsets from the front of the uncompressed records of a batch; this implementation loads
    none.

    The native implementation puts each commit into `find(group)`, made by `make(offset, leader_epoch,
    metadata, commit_timestamp, -1, record_offset)`. Returns the position of the first record that is not a
    commit in the present format, which is here the first record; the caller reads the records one by one from
    that position on.
    """
    del records, base_offset, find, make
    return 0
