"""`kcompat` with one feature taken out: the next request of a connection does not end its waiting fetch."""

from __future__ import annotations

import sys

from kcompat.cli.main import main
from kcompat.net.conversation import Conversation


def _wait_on(_: Conversation) -> None:
    """Do nothing, as a real Kafka does: the waiting fetch goes on."""


Conversation._interrupt = _wait_on  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
