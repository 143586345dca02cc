"""Finding the only batch of a Produce request without decoding the fields around it.

A producer's requests often differ only in their batch. A caller that has decoded one request recognizes the
next by the equal bytes before the batch.
"""

from __future__ import annotations

import struct
from typing import Final

from kcompat.protocol.reading import read_uvarint
from kcompat.protocol.schema import ProtocolViolation

FIRST_FLEXIBLE: Final = 9
FIRST_WITH_IDS: Final = 13
"""First Produce versions with compact lengths and tagged fields, and with topic ids."""

HEAD_AT: Final = 8
"""Bytes of API key, version and correlation id; the head is everything from there to the batch."""
ACKS_AND_TIMEOUT: Final = 6
_INDEX: Final = 4
_UUID: Final = 16
_WIDTHS: Final = {2: struct.Struct(">h").unpack_from, 4: struct.Struct(">i").unpack_from}


def find_single_batch(frame: memoryview, version: int) -> tuple[bytes, int, int] | None:
    """Return the head of a Produce request (client id to partition index) and the bounds of its batch.

    `version` is at least 3, the first with a transactional id. Returns None unless the request has exactly
    one partition with a batch, and no transactional id, tagged field, or bytes behind it. Two frames of one
    version with the same head differ only in their correlation ids and batches.
    """
    try:
        return _Places(frame, version).find()
    except (struct.error, IndexError, ProtocolViolation):
        return None


class _Places:
    """A frame and the position up to which it was read."""

    def __init__(self, frame: memoryview, version: int) -> None:
        self._frame = frame
        self._version = version
        self._at = HEAD_AT

    def find(self) -> tuple[bytes, int, int] | None:
        frame = self._frame
        (client_id,) = _WIDTHS[2](frame, self._at)
        self._at += 2 + max(client_id, 0)
        if self._has_tags() or self._length(2) != -1:
            return None
        self._at += ACKS_AND_TIMEOUT
        if self._length(4) != 1:
            return None
        name = _UUID if self._version >= FIRST_WITH_IDS else self._length(2)
        if name < 0:
            return None
        self._at += name
        if self._length(4) != 1:
            return None
        self._at += _INDEX
        head_end = self._at
        size, start = self._length(4), self._at
        end = start + size
        self._at = end
        if size < 0 or self._has_tags() or self._has_tags() or self._has_tags() or self._at != len(frame):
            return None
        return bytes(frame[HEAD_AT:head_end]), start, end

    def _length(self, width: int) -> int:
        """Read the next length or count, -1 for null. `width` is the size of the form that is not compact."""
        if self._version >= FIRST_FLEXIBLE:
            value, self._at = read_uvarint(self._frame, self._at)
            return value - 1
        (length,) = _WIDTHS[width](self._frame, self._at)
        self._at += width
        return int(length)

    def _has_tags(self) -> bool:
        """Skip a tag section, if the version has them; return whether it has any tagged fields."""
        if self._version < FIRST_FLEXIBLE:
            return False
        self._at += 1
        return self._frame[self._at - 1] != 0
