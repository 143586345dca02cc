"""The reasons why a conversation hands on no frames: the bits of `Conversation._gate`."""

from __future__ import annotations

from typing import Final

WAITING: Final = 1
"""A blocking answer is outstanding."""
SENDING: Final = 2
"""The peer has not taken the last answers yet."""
CROWDED: Final = 4
"""Too many answers, or too many bytes of them, wait for earlier ones."""
MUTED: Final = 8
"""The peer is throttled (KIP-219)."""
STARVED: Final = 16
"""No receive memory is left."""
CLOSING: Final = 32
"""The connection closes once the answers so far have been sent."""
CLOSED: Final = 64
"""The connection is closed."""
YIELDING: Final = 128
"""The conversation has used its share of this loop iteration; a call in the next one is scheduled."""
BUSY: Final = 256
"""The last frame is being worked on elsewhere."""

ITERATION_S: Final = 0.001
"""Longest time in seconds that the frames of one read event are served before the conversation yields to the
next iteration of the event loop, so that a peer that sends thousands of requests at once does not delay the
others."""
