"""Where in memory a frame is received, so that what it carries is quickly written to a file.

What is written is copied into the kernel's pages, and on many processors such a copy takes a quarter longer
unless source and destination are equally far from a multiple of 32 bytes. The destination is given by the
position in the file. The source is ours to choose: whoever sends big batches often sends the next one to the
same partition, with as much in front of it, so where that will be written is known before it is received.
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
"""Bytes from which on the copy takes much longer than finding out where it goes."""
