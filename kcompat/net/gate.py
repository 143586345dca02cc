"""Why a conversation hands on no frames: the bits of `Conversation._gate`."""

from __future__ import annotations

from typing import Final

WAITING: Final = 1
"""A blocking answer is outstanding."""
SENDING: Final = 2
"""The peer has not taken the last answers yet."""
CROWDED: Final = 4
"""Too many answers, or too much of them, wait for earlier ones."""
MUTED: Final = 8
"""The peer is throttled (KIP-219)."""
STARVED: Final = 16
"""There is no receive memory left."""
CLOSING: Final = 32
"""It closes when the answers so far are out."""
CLOSED: Final = 64
"""It is closed."""
YIELDING: Final = 128
"""It has had its turn; the loop has called for the next one already."""
BUSY: Final = 256
"""The last frame is being worked on elsewhere."""
