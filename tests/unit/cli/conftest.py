"""Levels of loggers are put back after each test: a command sets those of the whole process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from kcompat.logger_names import KAFKA_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def levels_as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("kcompat", "kcompat.tests.cli", *KAFKA_NAMES)]
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)
