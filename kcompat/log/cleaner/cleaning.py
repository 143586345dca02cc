"""One cleaning in progress, as the cleaner remembers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.log.cleaner.job import CleanJob
    from kcompat.log.cleaner.runners import Runner
    from kcompat.log.log import Log


class Cleaning:
    """A cleaning of one log in progress."""

    __slots__ = ("cuts", "job", "log", "pending", "runner", "started_ms")

    def __init__(self, log: Log, job: CleanJob, runner: Runner, started_ms: int) -> None:
        self.log = log
        self.job = job
        self.runner = runner
        self.cuts = log.cuts
        self.pending = {part.base_offset for part in job.parts}
        self.started_ms = started_ms
