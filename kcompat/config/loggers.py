"""The levels of this broker's loggers, which the BROKER_LOGGER resource shows and sets (KIP-412).

Clients see only the loggers of the package `kcompat`, the package itself under Kafka's name `root`, and the
log of the authorizer: they cannot change the logging of a program that embeds a broker.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kcompat.config.describe import EVERYTHING, ConfigSource, Entry
from kcompat.config.dynamic import CONFIG_OPERATIONS, Alteration, Change, ConfigOperation, check_form
from kcompat.config.types import ConfigType
from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import AUDIT_LOGGER

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

PACKAGE = "kcompat"
ROOT = "root"
LEVELS = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": 5,
    "WARN": logging.WARNING,
}
"""Python's level numbers by Kafka's level names."""


def level_name(number: int) -> str:
    """Return Kafka's name of the strictest level that a record of this number passes."""
    below = [(value, name) for name, value in LEVELS.items() if value <= number]
    return max(below)[1] if below else "TRACE"


def find_logger(name: str) -> logging.Logger | None:
    """Return one of this broker's loggers by the name that clients use; None if there is none."""
    if name == ROOT:
        return logging.getLogger(PACKAGE)
    known = logging.Logger.manager.loggerDict.get(name)
    is_ours = name.startswith(f"{PACKAGE}.") or name == AUDIT_LOGGER
    return known if isinstance(known, logging.Logger) and is_ours else None


def describe_loggers(names: Container[str] = EVERYTHING) -> list[Entry]:
    """Return every logger with its effective level, restricted to `names`."""
    found = [ROOT, *sorted(logging.Logger.manager.loggerDict)]
    return [
        Entry(
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


def change_loggers(alterations: Sequence[Alteration], *, validate_only: bool) -> Change:
    """Set levels, or delete them so that the parent's apply. Levels last as long as the process."""
    refusal = check_form(alterations) or _check_levels(alterations)
    if refusal is not None:
        return refusal
    if not validate_only:
        for alteration in alterations:
            logger = find_logger(alteration.name)
            assert logger is not None, "checked by _check_levels"
            deleted = alteration.operation == ConfigOperation.DELETE
            logger.setLevel(logging.NOTSET if deleted else LEVELS[alteration.value or ""])
    return Change()


def _check_levels(alterations: Sequence[Alteration]) -> Change | None:
    for alteration in alterations:
        name, operation = alteration.name, alteration.operation
        if operation not in CONFIG_OPERATIONS:
            return Change(ErrorCode.UNKNOWN_SERVER_ERROR)
        if operation in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
            return Change(
                ErrorCode.INVALID_REQUEST,
                f"{ConfigOperation(operation).name} operation is not allowed for the BROKER_LOGGER resource",
            )
        if find_logger(name) is None:
            return Change(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
        if operation == ConfigOperation.DELETE and name == ROOT:
            return Change(
                ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed"
            )
        if operation == ConfigOperation.SET and alteration.value not in LEVELS:
            return Change(
                ErrorCode.INVALID_CONFIG,
                f"Cannot set the log level of {name} to {alteration.value} "
                f"as it is not a supported log level. Valid log levels are {', '.join(LEVELS)}",
            )
    return None
