"""Loading of committed offsets from the records of a batch, many at a time.

The extension `_native` does it if it was built; without it the records are read one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kcompat import capabilities

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.records._python import Buffer
    from kcompat.topics import TopicPartition

__all__ = ["fill"]

Made = TypeVar("Made")
Offsets = dict["TopicPartition", Made]

if capabilities.native("kcompat.group._native"):
    from kcompat.group._native import fill
else:

    def fill(
        records: Buffer, base_offset: int, find: Callable[[str], Offsets[Made]], make: Callable[..., Made], /
    ) -> int:
        """Load committed offsets from the front of the uncompressed records of a batch; this implementation
        loads none.

        The native implementation puts each commit into `find(group)`, made by `make(offset, leader_epoch,
        metadata, commit_timestamp, -1, record_offset)`. Returns the position of the first record that is not
        a commit in the present format, which is here the first record; the caller reads the records one by
        one from that position on.
        """
        del records, base_offset, find, make
        return 0
