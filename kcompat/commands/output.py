"""Output of commands besides their tables: JSON, and the lines that Kafka's commands log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from kcompat.admin.log_lines import log_line

if TYPE_CHECKING:
    from kcompat.admin.errors import JavaError


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    import msgspec

    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def error_stream(*, is_json: bool) -> TextIO:
    """Return the stream for an error that Kafka's command writes to standard output: standard error if
    standard output is for JSON.
    """
    return sys.stderr if is_json else sys.stdout


def execution_error(error: JavaError) -> JavaError:
    """Return the `ExecutionException` that Java's futures wrap the error of a response in, which some
    commands print.
    """
    from kcompat.admin.errors import JavaError

    outer = JavaError("ExecutionException", error.logged(), package="java.util.concurrent.")
    outer.__cause__ = error
    return outer


def print_failure(error: JavaError, before: str = "") -> None:
    """Print an error on standard error as most of Kafka's commands do: its message, then a stack trace
    without frames. `before` is written before the message.
    """
    sys.stderr.write(f"{before}{error}\n{error.logged()}\n\n")


def log_error(error: JavaError, logger: str) -> None:
    """Log an error on standard error as Kafka's commands do, without the frames of a stack trace."""
    log_line("ERROR", f"{error.logged()}\n", logger)
