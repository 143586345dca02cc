"""Sizes that several modules of this package share; `_native` reads some of them when it is imported."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

PREFIX: Final = 4
"""Bytes of the length prefix of a frame."""
GRAIN: Final = 32
"""Bytes to a multiple of which copies are aligned; see `placing`."""
JOIN_LIMIT: Final = 64 * KIB
"""Bytes up to which the pieces of an answer are joined: copying more costs more than sending one more piece.
"""

SENDS_AT_ONCE: Final = 16
"""Maximum number of connections whose answers are sent together, so that a peer with many connections wakes
once. With more, the peer would idle meanwhile.
"""
EVENTS_A_POLL: Final = 256
"""Maximum number of ready sockets that one poll returns."""
