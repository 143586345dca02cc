"""Lines on standard error as the logging of Kafka's commands writes them: `[TIME] LEVEL MESSAGE (LOGGER)`."""

from __future__ import annotations

import sys
import time
from typing import Final

NETWORK_CLIENT: Final = "org.apache.kafka.clients.NetworkClient"


def log_line(level: str, text: str, logger: str) -> None:
    """Write one line to standard error, with the local time to the millisecond."""
    now = time.time()
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    sys.stderr.write(f"[{moment},{int(now % 1 * 1000):03}] {level} {text} ({logger})\n")
    sys.stderr.flush()
