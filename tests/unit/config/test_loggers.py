from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from kcompat.config.dynamic import Alteration, ConfigChange, ConfigOperation
from kcompat.config.loggers import change_loggers, describe_loggers, find_logger, level_name, set_level
from kcompat.logger_names import AUTHORIZER, KAFKA_NAMES, PRODUCER_STATES, REQUESTS
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "kcompat.tests.loggers"


@pytest.fixture(autouse=True)
def levels() -> Iterator[None]:
    """Two loggers of ours, put back afterwards."""
    root, logger = logging.getLogger("kcompat"), logging.getLogger(NAME)
    kafkas = [logging.getLogger(name) for name in KAFKA_NAMES]
    before = [each.level for each in (root, *kafkas)]
    logger.setLevel(logging.NOTSET)
    for each in kafkas:
        each.setLevel(logging.NOTSET)
    set_level("root", logging.INFO)
    yield
    logger.setLevel(logging.NOTSET)
    for each, level in zip((root, *kafkas), before, strict=True):
        each.setLevel(level)


def change(name: str, operation: int, value: str | None, *, validate_only: bool = False) -> ConfigChange:
    return change_loggers([Alteration(name, operation, value)], validate_only=validate_only)


def shown(*names: str) -> dict[str, str | None]:
    return {entry.name: entry.value for entry in describe_loggers(set(names))}


def test_levels_are_shown_set_and_deleted() -> None:
    assert shown("root", NAME, "kcompat.no.such") == {"root": "INFO", NAME: "INFO"}
    assert change(NAME, ConfigOperation.SET, "TRACE") == ConfigChange()
    assert shown(NAME) == {NAME: "TRACE"}
    assert logging.getLogger(NAME).isEnabledFor(5)
    assert change("root", ConfigOperation.SET, "FATAL") == ConfigChange()
    assert change(NAME, ConfigOperation.DELETE, None) == ConfigChange()
    assert shown("root", NAME) == {"root": "FATAL", NAME: "FATAL"}


def test_the_log_of_the_authorizer_is_shown_under_its_name_in_kafka() -> None:
    assert shown(AUTHORIZER, "kafka.other").keys() == {AUTHORIZER}
    assert find_logger("kafka") is None


def test_a_logger_with_a_name_of_kafka_has_the_level_of_the_root_until_it_gets_its_own() -> None:
    assert change("root", ConfigOperation.SET, "ERROR") == ConfigChange()
    assert shown(AUTHORIZER, REQUESTS) == {AUTHORIZER: "ERROR", REQUESTS: "ERROR"}
    assert change(REQUESTS, ConfigOperation.SET, "DEBUG") == ConfigChange()
    assert change("root", ConfigOperation.SET, "FATAL") == ConfigChange()
    assert shown(AUTHORIZER, REQUESTS) == {AUTHORIZER: "FATAL", REQUESTS: "DEBUG"}
    assert change(REQUESTS, ConfigOperation.DELETE, None) == ConfigChange()
    assert shown(REQUESTS) == {REQUESTS: "FATAL"}
    assert logging.getLogger("kafka").level == logging.NOTSET  # which kafka-python uses


def test_a_level_holds_for_the_loggers_below() -> None:
    set_level("kafka", logging.DEBUG)
    logging.getLogger("kafka").setLevel(logging.NOTSET)
    assert shown(REQUESTS, PRODUCER_STATES) == {REQUESTS: "DEBUG", PRODUCER_STATES: "INFO"}
    set_level("root", logging.ERROR)
    assert shown("root", REQUESTS, PRODUCER_STATES) == {
        "root": "ERROR",
        REQUESTS: "DEBUG",
        PRODUCER_STATES: "ERROR",
    }


def test_validation_alone_changes_nothing() -> None:
    assert change(NAME, ConfigOperation.SET, "DEBUG", validate_only=True) == ConfigChange()
    assert shown(NAME) == {NAME: "INFO"}


def test_one_bad_element_stops_all() -> None:
    alterations = [
        Alteration(NAME, ConfigOperation.SET, "DEBUG"),
        Alteration("root", ConfigOperation.SET, "debug"),
    ]
    assert change_loggers(alterations, validate_only=False).error is ErrorCode.INVALID_CONFIG
    assert shown(NAME) == {NAME: "INFO"}


@pytest.mark.parametrize(
    ("name", "operation", "value", "error", "message"),
    [
        ("nope", ConfigOperation.SET, "DEBUG", ErrorCode.INVALID_CONFIG, "Logger nope does not exist!"),
        ("asyncio", ConfigOperation.SET, "DEBUG", ErrorCode.INVALID_CONFIG, "Logger asyncio does not exist!"),
        ("root", ConfigOperation.SET, "warn", ErrorCode.INVALID_CONFIG,
         "Cannot set the log level of root to warn as it is not a supported log level. "
         "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"),
        ("root", ConfigOperation.DELETE, None, ErrorCode.INVALID_REQUEST,
         "Removing the log level of the root logger is not allowed"),
        ("root", ConfigOperation.APPEND, "DEBUG", ErrorCode.INVALID_REQUEST,
         "APPEND operation is not allowed for the BROKER_LOGGER resource"),
        ("root", ConfigOperation.SUBTRACT, "DEBUG", ErrorCode.INVALID_REQUEST,
         "SUBTRACT operation is not allowed for the BROKER_LOGGER resource"),
        ("root", 9, "DEBUG", ErrorCode.UNKNOWN_SERVER_ERROR, None),
        ("root", ConfigOperation.SET, None, ErrorCode.INVALID_REQUEST, "Null value not supported for : root"),
    ],
)  # fmt: skip
def test_refusals(
    name: str, operation: int, value: str | None, error: ErrorCode, message: str | None
) -> None:
    assert change(name, operation, value) == ConfigChange(error, message)


def test_the_host_programs_loggers_are_none_of_ours() -> None:
    logging.getLogger("asyncio")
    assert find_logger("asyncio") is None
    assert find_logger("kcompatible") is None
    assert find_logger("root") is logging.getLogger("kcompat")


@pytest.mark.parametrize(
    ("number", "name"), [(1, "TRACE"), (5, "TRACE"), (10, "DEBUG"), (20, "INFO"), (25, "INFO"), (50, "FATAL")]
)
def test_names_of_levels(number: int, name: str) -> None:
    assert level_name(number) == name
