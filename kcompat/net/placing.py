"""Choice of the memory address at which a frame is received, so that writing its data to a file is fast.

A write copies the data into the kernel's pages. On many processors such a copy takes a quarter longer unless
source and destination are equally far from a multiple of 32 bytes. The position in the file gives the
destination; the source can be chosen. A client that sends big batches often sends the next one to the same
partition, behind a header of the same size, so its position in the file is known before it is received.
"""

from __future__ import annotations

from typing import Final

from kcompat import capabilities
from kcompat.net.sizes import KIB

if capabilities.native("kcompat.net._native"):
    from kcompat.net._native import misfit
else:
    from kcompat.net._python import misfit

__all__ = ["WORTH_PLACING", "misfit"]

WORTH_PLACING: Final = 128 * KIB
"""Bytes from which on aligning a copy saves much more time than choosing the place costs."""
