"""Logging in the format of Kafka's start scripts: one line a record, levels from the same variables."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from kcompat.config.errors import ConfigError
from kcompat.config.loggers import LEVELS, set_level, set_root_level

if TYPE_CHECKING:
    from collections.abc import Mapping

PATTERN = "[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
"""Kafka's pattern `[%d] %p %m (%c)`."""

ROOT_LEVEL_VARIABLE = "KAFKA_LOG4J_ROOT_LOGLEVEL"
LOGGERS_VARIABLE = "KAFKA_LOG4J_LOGGERS"


def set_up_logging(environment: Mapping[str, str], level: str | None = None, origin: str = "") -> None:
    """Log to standard error. `level` is one of Kafka's names and takes precedence over the variables.
    `origin` begins each line, where several processes log to the same file.

    Raises:
        ConfigError: a variable names a level that does not exist.
    """
    for name, number in LEVELS.items():
        logging.addLevelName(number, name)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LinesFrom(origin) if origin else logging.Formatter(PATTERN))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    root_level = level or environment.get(ROOT_LEVEL_VARIABLE) or "WARN"
    set_root_level(_number(ROOT_LEVEL_VARIABLE, root_level))
    for pair in filter(None, environment.get(LOGGERS_VARIABLE, "").split(",")):
        name, separator, text = (part.strip() for part in pair.partition("="))
        if not separator:
            raise ConfigError(f"{LOGGERS_VARIABLE} has {pair!r}, which is not of the form LOGGER=LEVEL")
        set_level(name, _number(LOGGERS_VARIABLE, text))


class LinesFrom(logging.Formatter):
    """Formatter that begins each line with the origin of the record, the lines of a traceback included."""

    def __init__(self, origin: str) -> None:
        super().__init__(PATTERN)
        self._origin = f"{origin}: "

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        return "\n".join(self._origin + line for line in super().format(record).split("\n"))


def _number(variable: str, text: str) -> int:
    number = LEVELS.get(text.upper())
    if number is None:
        raise ConfigError(f"{variable} has the level {text!r}; it must be one of {', '.join(LEVELS)}")
    return number
