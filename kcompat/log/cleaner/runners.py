"""Runners of a cleaning: in another process, or in small steps in this process."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Protocol

import msgspec

from kcompat import child
from kcompat.log.cleaner.job import LAST_WORDS, Damaged, Interrupted, Report
from kcompat.log.files import FILES

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.log.cleaner.job import CleanJob
    from kcompat.log.files import Files
    from kcompat.log.log import Log

_SLICE_S = 0.001
_READ = 1 << 16


class Runner(Protocol):
    """A cleaning in progress."""

    def poll(self) -> list[Report]:
        """Return the reports since the last call; one of `LAST_WORDS` is the last report."""

    def stop(self) -> None:
        """End the cleaning at once; a system call in progress is completed."""


class StepRunner:
    """Runner in this process; each `poll` runs steps for `slice_s` seconds, about a millisecond by default.

    One step may process a whole batch or chunk, which can take longer. Used where no process can be started,
    for small logs where nothing else is to be done meanwhile, and in tests.
    """

    def __init__(
        self,
        job: CleanJob,
        files: Files,
        seconds: Callable[[], float] = time.monotonic,
        *,
        slice_s: float = _SLICE_S,
    ) -> None:
        """Take the job; `seconds` is a monotonic clock."""
        from kcompat.log.cleaner.run import run  # here, as most brokers leave the work to other processes

        self._slice_s = slice_s
        self._seconds = seconds
        self._steps = run(job, files, seconds)
        self._wait_until_s = 0.0

    def poll(self) -> list[Report]:
        reports: list[Report] = []
        end_s = self._seconds() + self._slice_s
        while self._wait_until_s <= (now_s := self._seconds()) < end_s:
            step = next(self._steps, None)
            if step is None:
                break
            if isinstance(step, float):
                self._wait_until_s = now_s + step
            else:
                reports.append(step)
        return reports

    def stop(self) -> None:
        self._steps = iter(())


class ProcessRunner:
    """Runner in a child process, so that the event loop goes on at full speed on another core.

    The job is passed in an unlinked file, which never blocks; reports come through a pipe that is polled.
    """

    def __init__(self, job: CleanJob) -> None:
        """Start the process. OSError passes through."""
        import subprocess  # imported here, as most brokers compact nothing
        import tempfile

        theirs, self._lifeline = os.pipe()
        try:
            with tempfile.TemporaryFile() as file:
                file.write(msgspec.json.encode(job))
                file.seek(0)
                self._process = subprocess.Popen(  # noqa: S603 - the command is this program itself
                    child.command(f"{__package__}.process", str(theirs)),
                    stdin=file,
                    stdout=subprocess.PIPE,
                    pass_fds=(theirs,),
                    env=child.environment(),
                )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(theirs)
        assert self._process.stdout is not None
        self._output = self._process.stdout
        os.set_blocking(self._output.fileno(), False)
        self._pending = b""
        self._decoder = msgspec.json.Decoder(Report)
        self._ended = False

    def poll(self) -> list[Report]:
        """Return the reports since the last call.

        A process that ends without a final report counts as Damaged, because a second run would end the same
        way; a killed process counts as Interrupted.
        """
        reports: list[Report] = []
        while not self._ended:
            try:
                data = os.read(self._output.fileno(), _READ)
            except BlockingIOError:
                break
            *lines, self._pending = (self._pending + data).split(b"\n")
            reports += map(self._decoder.decode, lines)
            self._ended = not data
        if self._ended and not (reports and isinstance(reports[-1], LAST_WORDS)):
            status = self._process.wait()
            is_killed = -status in (signal.SIGKILL, signal.SIGTERM)
            message = f"the cleaning process ended with {status}"
            reports.append(Interrupted(message) if is_killed else Damaged(message))
        return reports

    def stop(self) -> None:
        self._process.kill()
        # a process in a sync cannot be interrupted
        threading.Thread(target=self._process.wait, daemon=True).start()
        self._output.close()
        os.close(self._lifeline)
        self._ended = True


def start(job: CleanJob) -> Runner:
    """Start a cleaning, in its own process where this Python can start one. OSError passes through."""
    return ProcessRunner(job) if sys.executable else StepRunner(job, FILES)


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
