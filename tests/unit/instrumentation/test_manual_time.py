"""Compactions of a broker whose time is moved: in this process if the log is small."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.instrumentation.manual_time import SMALL_LOG_BYTES, ManualTime
from kcompat.instrumentation.quiet_loop import QuietLoop
from kcompat.log.cleaner.cleaner import make_job
from kcompat.log.cleaner.job import Finished
from kcompat.log.cleaner.selection import assess
from kcompat.node.environment import real_environment
from support.compaction import CompactionHarness
from support.default_settings import cleaner_settings, log_settings

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.cleaner.job import CleanJob, Report
    from kcompat.log.cleaner.runners import Runner


class AskedError(Exception):
    """A child process was to be started."""


def start_process(job: CleanJob) -> Runner:
    raise AskedError


@pytest.mark.parametrize("is_small", [True, False])
def test_small_logs_are_compacted_in_this_process(tmp_path: Path, is_small: bool) -> None:
    log = CompactionHarness(tmp_path, log_settings(cleanup_policy=frozenset({"compact"})))
    for number in range(20):
        log.put((b"k", b"%d" % number), producer=(5, 0, log.log.log_end_offset))
    log.roll()
    cleanable = assess(list(log.log.local.segments), log.log.config, 0, log.log.log_end_offset, 0)
    job = make_job(log.log, cleanable, cleaner_settings(), 0)
    if not is_small:
        job = replace(job, parts=(replace(job.parts[0], size=SMALL_LOG_BYTES + 1),))

    async def poll() -> list[Report]:
        environment = replace(real_environment(), start_cleaning=start_process)
        return ManualTime(environment).environment.start_cleaning(job).poll()

    with asyncio.Runner(loop_factory=QuietLoop) as runner:
        if is_small:
            assert isinstance(runner.run(poll())[-1], Finished)
        else:
            with pytest.raises(AskedError):
                runner.run(poll())
