"""Where in memory a frame is received, so that what it carries is quickly written to a file.

What is written is copied into the kernel's pages, and on many processors such a copy takes a quarter longer
unless source and destination are equally far from a multiple of 32 bytes. The destination is given by the
position in the file. The source is ours to choose: whoever sends big batches often sends the next one to the
same partition, with as much in front of it, so where that will be written is known before it is received.
"""

from __future__ import annotations

from typing import Final

from kcompat.net.limits import KIB

GRAIN: Final = 32
WORTH_PLACING: Final = 128 * KIB
"""Bytes from which on the copy takes much longer than finding out where it goes."""


def misfit(data: memoryview, position: int) -> int:
    """How many bytes further on in memory `data` should have been, to be written to `position` of a file.

    It is not empty; the answer is less than `GRAIN`. Nothing is known of memory that is read-only: then 0.
    """
    import ctypes  # late: it takes a millisecond, and a broker of small batches never needs it

    if data.readonly:
        return 0
    return (position - ctypes.addressof(ctypes.c_char.from_buffer(data))) % GRAIN
