"""Output of commands besides their tables: JSON, and the lines that Kafka's commands log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kcompat.admin.log_lines import log_line

if TYPE_CHECKING:
    from kcompat.admin.errors import JavaError


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    import msgspec

    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def log_error(error: JavaError, logger: str) -> None:
    """Log an error on standard error as Kafka's commands do, without the frames of Java."""
    log_line("ERROR", f"{error.logged()}\n", logger)
