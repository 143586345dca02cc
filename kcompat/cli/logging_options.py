"""The options of `kcompat start` about its log, and the variables that have the same effect."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kcompat.cli.argument_types import milliseconds
from kcompat.logger_names import LEVELS

if TYPE_CHECKING:
    from collections.abc import MutableMapping

ROOT_LEVEL_VARIABLE: Final = "KAFKA_LOG4J_ROOT_LOGLEVEL"
LOGGERS_VARIABLE: Final = "KAFKA_LOG4J_LOGGERS"
FORMAT_VARIABLE: Final = "KCOMPAT_LOG_FORMAT"
SLOW_VARIABLE: Final = "KCOMPAT_SLOW_REQUEST_MS"
"""Environment variable with a time in ms: requests that take longer are logged as slow."""

TEXT: Final = "text"
JSON: Final = "json"


def add_logging(start: argparse.ArgumentParser) -> None:
    """Add the options of `kcompat start` about its log."""
    start.add_argument(
        "--log-level",
        type=_level,
        action="append",
        default=[],
        metavar="[LOGGER=]LEVEL",
        help="how much to log on standard error, TRACE to FATAL (default: KAFKA_LOG4J_ROOT_LOGLEVEL, else "
        "WARN); or how much of one logger, such as kafka.request.logger=DEBUG. May be repeated",
    )
    start.add_argument(
        "--log-format",
        choices=(TEXT, JSON),
        help=f"lines in Kafka's pattern, or of JSON (default: {FORMAT_VARIABLE}, else {TEXT})",
    )
    start.add_argument(
        "--slow-request-ms",
        type=milliseconds,
        metavar="MS",
        help="log requests that take longer, with the time of each stage (default: "
        f"{SLOW_VARIABLE}, else none)",
    )


def choose_logging(options: argparse.Namespace, variables: MutableMapping[str, str]) -> str | None:
    """Set the variables that the command line asks for, which processes of brokers inherit; return the level
    that it asks for, if any.
    """
    loggers = [pair for pair in options.log_level if "=" in pair]
    if loggers:
        variables[LOGGERS_VARIABLE] = ",".join(filter(None, [variables.get(LOGGERS_VARIABLE), *loggers]))
    if options.log_format is not None:
        variables[FORMAT_VARIABLE] = options.log_format
    if options.slow_request_ms is not None:
        variables[SLOW_VARIABLE] = str(options.slow_request_ms)
    levels = [level for level in options.log_level if "=" not in level]
    return levels[-1] if levels else None


def _level(text: str) -> str:
    """Return a level, or a logger with its level, as `--log-level` has it."""
    logger, separator, level = text.rpartition("=")
    if level.upper() not in LEVELS or (separator and not logger):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not LEVEL or LOGGER=LEVEL, with one of {', '.join(LEVELS)}"
        )
    return f"{logger}{separator}{level.upper()}"
