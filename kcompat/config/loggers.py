"""The levels of this broker's loggers, which the BROKER_LOGGER resource shows and sets (KIP-412).

Clients see only the loggers of the package `kcompat`, the package itself under Kafka's name `root`, and those
that have Kafka's names: they cannot change the logging of a program that embeds a broker.

A logger with one of Kafka's names has the level of `root` until it gets its own. Its level is set on itself
alone, because a client in the same program may use the loggers above it, as kafka-python does with `kafka`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kcompat.config.describe import EVERYTHING, DescribedConfig
from kcompat.config.dynamic import CONFIG_OPERATIONS, Alteration, ConfigChange, ConfigOperation, check_form
from kcompat.config.types import ConfigType
from kcompat.logger_names import KAFKA_NAMES, LEVELS
from kcompat.protocol.constants import ConfigSource
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

PACKAGE = "kcompat"
ROOT = "root"

level_listeners: Final[list[Callable[[], object]]] = []
"""Functions that are called after clients have changed levels."""


def level_name(number: int) -> str:
    """Return Kafka's name of the strictest level that a record of this number passes."""
    below = [(value, name) for name, value in LEVELS.items() if value <= number]
    return max(below)[1] if below else "TRACE"


def find_logger(name: str) -> logging.Logger | None:
    """Return one of this broker's loggers by the name that clients use; None if there is none."""
    if name == ROOT:
        return logging.getLogger(PACKAGE)
    if name in KAFKA_NAMES:
        return logging.getLogger(name)
    known = logging.Logger.manager.loggerDict.get(name)
    return known if isinstance(known, logging.Logger) and name.startswith(f"{PACKAGE}.") else None


def set_root_level(number: int) -> None:
    """Set the level of the package, and of each logger with one of Kafka's names that has no level of its
    own.
    """
    root = logging.getLogger(PACKAGE)
    for name in KAFKA_NAMES:
        logger = logging.getLogger(name)
        if logger.level in (logging.NOTSET, root.level):
            logger.setLevel(number)
    root.setLevel(number)


def set_level(name: str, number: int) -> None:
    """Set the level of a logger and of those below it, as log4j does. The name need not be one of ours."""
    if name == ROOT:
        set_root_level(number)
        return
    logging.getLogger(name).setLevel(number)
    for below in KAFKA_NAMES:
        if below.startswith(f"{name}."):
            logging.getLogger(below).setLevel(number)


def describe_loggers(names: Container[str] = EVERYTHING) -> list[DescribedConfig]:
    """Return every logger with its effective level, restricted to `names`."""
    found = [ROOT, *sorted(KAFKA_NAMES | logging.Logger.manager.loggerDict.keys())]
    return [
        DescribedConfig(
            name=name,
            value=level_name(logger.getEffectiveLevel()),
            source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
            read_only=False,
            sensitive=False,
            type=ConfigType.UNKNOWN,
            doc="",
        )
        for name in found
        if name in names and (logger := find_logger(name)) is not None
    ]


def change_loggers(alterations: Sequence[Alteration], *, validate_only: bool) -> ConfigChange:
    """Set levels, or delete them so that those of the parents apply. Levels last as long as the process."""
    refusal = check_form(alterations) or _check_levels(alterations)
    if refusal is not None:
        return refusal
    if not validate_only:
        for alteration in alterations:
            logger = find_logger(alteration.name)
            assert logger is not None, "checked by _check_levels"
            if alteration.operation == ConfigOperation.DELETE:
                is_kafkas = alteration.name in KAFKA_NAMES
                logger.setLevel(logging.getLogger(PACKAGE).level if is_kafkas else logging.NOTSET)
            elif alteration.name == ROOT:
                set_root_level(LEVELS[alteration.value or ""])
            else:
                logger.setLevel(LEVELS[alteration.value or ""])
        for listener in tuple(level_listeners):
            listener()
    return ConfigChange()


def _check_levels(alterations: Sequence[Alteration]) -> ConfigChange | None:
    for alteration in alterations:
        name, operation = alteration.name, alteration.operation
        if operation not in CONFIG_OPERATIONS:
            return ConfigChange(ErrorCode.UNKNOWN_SERVER_ERROR)
        if operation in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
            return ConfigChange(
                ErrorCode.INVALID_REQUEST,
                f"{ConfigOperation(operation).name} operation is not allowed for the BROKER_LOGGER resource",
            )
        if find_logger(name) is None:
            return ConfigChange(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
        if operation == ConfigOperation.DELETE and name == ROOT:
            return ConfigChange(
                ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed"
            )
        if operation == ConfigOperation.SET and alteration.value not in LEVELS:
            return ConfigChange(
                ErrorCode.INVALID_CONFIG,
                f"Cannot set the log level of {name} to {alteration.value} "
                f"as it is not a supported log level. Valid log levels are {', '.join(LEVELS)}",
            )
    return None
