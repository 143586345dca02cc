"""CRC-32C (Castagnoli), the checksum of batches v2 and of producer snapshots.

The extension computes it where it was built and the processor has CRC instructions, else the library crc32c,
which is then faster. The library is imported only then, as its import takes 5 % of a broker's start.
"""

from __future__ import annotations

from kcompat.records.scanning import INSPECTS_CRC

__all__ = ["crc32c"]

if INSPECTS_CRC:
    from kcompat.records._native import crc32c
else:
    from crc32c import crc32c
