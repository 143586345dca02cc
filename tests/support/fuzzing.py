"""How much is tried by tests that look for faults by chance; memory where a sanitizer sees each of them."""

from __future__ import annotations

import ctypes
import os
from typing import Final

FACTOR: Final = float(os.environ.get("KCOMPAT_FUZZ", "1"))
"""Factor of the number of random inputs; `make test` sets it below 1."""

_AHEAD = 32  # ctypes keeps arrays of a few bytes inside its objects


def examples(usual: int) -> int:
    """How many examples there are to be where there usually are so many; at least one."""
    return max(1, round(usual * FACTOR))


def exact(data: bytes | bytearray | memoryview) -> memoryview:
    """Copy the bytes to memory that ends where they do, so that a sanitizer sees any access beyond."""
    memory = (ctypes.c_ubyte * (_AHEAD + len(data))).from_buffer_copy(bytes(_AHEAD) + bytes(data))
    return memoryview(memory).cast("B")[_AHEAD:]
