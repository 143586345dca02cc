"""The logs of a broker that is not there: with threads of their own, as a broker has them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from kcompat.log.files import FILES
from kcompat.log.manager import LogManager
from kcompat.worker import ThreadWorker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kcompat.clock import Clock
    from kcompat.log.files import Files
    from kcompat.log.log import Log


def log_manager(directories: Sequence[Path | str], clock: Clock, files: Files = FILES) -> LogManager:
    """Not opened yet."""
    return LogManager(directories, clock, files, ThreadWorker, Random(0))


def log_of(manager: LogManager, topic: str, partition: int) -> Log:
    """Return the log of a partition, which has one."""
    log = manager.get(topic, partition)
    assert log is not None
    return log
