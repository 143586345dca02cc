"""CRC-32C (Castagnoli): the checksum of batches v2, and of the snapshots of producers.

By the extension where it was built and the processor helps, else by the library crc32c, which is then the
faster one. Only then is the library imported: it takes a twentieth of a broker's start.
"""

from __future__ import annotations

from kcompat.records.scanning import INSPECTS_CRC

__all__ = ["crc32c"]

if INSPECTS_CRC:
    from kcompat.records._native import crc32c
else:
    from crc32c import crc32c
