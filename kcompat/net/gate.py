"""Why a connection hands on no frames: the bits of `Connection._gate`."""

from __future__ import annotations

from typing import Final

WAITING: Final = 1  # a blocking answer is outstanding
SENDING: Final = 2  # the peer has not taken the last answers yet
CROWDED: Final = 4  # too many answers wait for earlier ones
MUTED: Final = 8  # throttled (KIP-219)
STARVED: Final = 16  # no receive memory left
CLOSING: Final = 32  # closes when the answers so far are out
CLOSED: Final = 64
YIELDING: Final = 128  # its turn is over, the next begins with `_pump`
BUSY: Final = 256  # the last frame is being worked on
