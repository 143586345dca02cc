"""Logging in the format of Kafka's start scripts or as JSON, with levels from the same variables."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentTypeError
from time import gmtime, strftime
from typing import TYPE_CHECKING

from msgspec import structs
from msgspec.json import encode

from kcompat.cli.argument_types import milliseconds
from kcompat.cli.logging_options import (
    FORMAT_VARIABLE,
    JSON,
    LOGGERS_VARIABLE,
    ROOT_LEVEL_VARIABLE,
    SLOW_VARIABLE,
    TEXT,
)
from kcompat.config.errors import ConfigError
from kcompat.config.loggers import level_listeners, set_level, set_root_level
from kcompat.logger_names import LEVELS, REQUESTS
from kcompat.wording import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.node.environment import Environment
    from kcompat.node.hooks import Hooks

PATTERN = "[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
"""Kafka's pattern `[%d] %p %m (%c)`."""


def set_up_logging(environment: Mapping[str, str], level: str | None = None, origin: str = "") -> None:
    """Log to standard error. `level` is one of Kafka's names and takes precedence over the variables.
    `origin` begins each line, where several processes log to the same file.

    Raises:
        ConfigError: a variable names a level or a format that does not exist.
    """
    for name, number in LEVELS.items():
        logging.addLevelName(number, name)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(environment.get(FORMAT_VARIABLE) or TEXT, origin))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    root_level = level or environment.get(ROOT_LEVEL_VARIABLE) or "WARN"
    set_root_level(_number(ROOT_LEVEL_VARIABLE, root_level))
    for pair in filter(None, environment.get(LOGGERS_VARIABLE, "").split(",")):
        name, separator, text = (part.strip() for part in pair.partition("="))
        if not separator:
            raise ConfigError(f"{LOGGERS_VARIABLE} has {pair!r}, which is not of the form LOGGER=LEVEL")
        set_level(name, _number(LOGGERS_VARIABLE, text))


class Lines(logging.Formatter):
    """Formatter in Kafka's pattern. Each record is one line, before its traceback, if it has one: clients
    choose names, and may put line breaks and escape sequences of terminals into them.
    """

    def __init__(self) -> None:
        super().__init__(PATTERN)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name in logging
        """Return the line of a record."""
        record.message = printable(record.message)
        return super().formatMessage(record)


class LinesFrom(Lines):
    """Formatter that begins each line with the origin of the record, the lines of a traceback included."""

    def __init__(self, origin: str) -> None:
        super().__init__()
        self._origin = f"{origin}: "

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        return "\n".join(self._origin + line for line in super().format(record).split("\n"))


class LinesOfJson(logging.Formatter):
    """Formatter that writes each record as one line of JSON, a traceback included."""

    def __init__(self, origin: str) -> None:
        super().__init__()
        self._origin = {"origin": origin} if origin else {}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, with its time in UTC."""
        time = strftime("%Y-%m-%dT%H:%M:%S", gmtime(record.created))
        fields = {
            "timestamp": f"{time}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": _encodable(record.getMessage()),
            **self._origin,
        }
        trace = self.formatException(record.exc_info) if record.exc_info else record.exc_text
        if trace:
            fields["exception"] = _encodable(trace)
        return encode(fields).decode()


def _encodable(text: str) -> str:
    """Return a text that UTF-8 can have: paths of files have surrogates where they are not UTF-8."""
    return text.encode(errors="backslashreplace").decode()


def _formatter(name: str, origin: str) -> logging.Formatter:
    if name == JSON:
        return LinesOfJson(origin)
    if name != TEXT:
        raise ConfigError(f"{FORMAT_VARIABLE}={name} is not possible: use {TEXT} or {JSON}")
    return LinesFrom(origin) if origin else Lines()


def with_request_logs(environment: Environment, variables: Mapping[str, str]) -> Environment:
    """Return the environment with the logs of requests added to its instruments.

    Raises:
        ConfigError: the variable for slow requests has no time.
    """
    text = variables.get(SLOW_VARIABLE)
    try:
        slow_ms = milliseconds(text) if text else None
    except ArgumentTypeError as error:
        raise ConfigError(f"{SLOW_VARIABLE}: {error}") from None

    def attach(broker: Hooks) -> None:
        environment.instrument(broker)
        _begin_when_wanted(broker, slow_ms)

    return structs.replace(environment, instrument=attach)


def _begin_when_wanted(broker: Hooks, slow_ms: float | None) -> None:
    """Attach the logs of requests to a broker as soon as one of them may have lines."""

    def begin() -> None:
        if slow_ms is not None or logging.getLogger(REQUESTS).isEnabledFor(logging.DEBUG):
            from kcompat.observe.request_log import RequestLogs  # late: most brokers never need it

            end()
            RequestLogs(broker, slow_ms)

    def end() -> None:
        if begin in level_listeners:
            level_listeners.remove(begin)

    level_listeners.append(begin)
    broker.when_stopped(end, end)
    begin()


def _number(variable: str, text: str) -> int:
    number = LEVELS.get(text.upper())
    if number is None:
        raise ConfigError(f"{variable} has the level {text!r}; it must be one of {', '.join(LEVELS)}")
    return number
