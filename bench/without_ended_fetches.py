"""`kcompat` with one feature taken out: the next request of a connection does not end its waiting fetch."""

from __future__ import annotations

import sys

from kcompat.cli.main import main
from kcompat.net.connection import Connection


def _wait_on(_: Connection) -> None:
    """What a real Kafka does: nothing."""


Connection._interrupt = _wait_on  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
