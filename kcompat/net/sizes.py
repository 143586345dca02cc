"""Sizes that several modules here must agree on; `_native` reads some of them when it is imported."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

PREFIX: Final = 4
"""Bytes of the length prefix of a frame."""
GRAIN: Final = 32
"""Bytes; see `placing`."""
JOIN_LIMIT: Final = 64 * KIB
"""Pieces of an answer are joined up to this size: a copy of more costs more than sending one more piece."""

SENDS_AT_ONCE: Final = 16
"""Connections whose answers leave together, which wakes a peer that has many of them once. With more it would
have nothing to do meanwhile."""
EVENTS_A_POLL: Final = 256
"""Ready sockets that one poll may find."""
