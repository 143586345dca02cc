"""The log cleaner of a broker: picks logs, has them cleaned, and replaces their segments (Kafka's
LogCleaner).

Everything runs on the event loop except the reading and writing of records, which a `Runner` does. Retention,
truncation and deletion take precedence: a result that no longer fits the log is discarded.
"""

from __future__ import annotations

import contextlib
import logging
import os
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.faults import contained
from kcompat.log.cleaner.job import (
    CleanJob,
    Damaged,
    Failed,
    Finished,
    GroupCleaned,
    Interrupted,
    Rules,
    SegmentPart,
)
from kcompat.log.cleaner.runners import Cleaning
from kcompat.log.cleaner.selection import assess, first_dirty
from kcompat.log.errors import StorageError
from kcompat.log.names import CLEANED, LOG
from kcompat.logger_names import LOG_CLEANER
from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.clock import Clock, Timer
    from kcompat.log.cleaner.job import Report
    from kcompat.log.cleaner.runners import Runner
    from kcompat.log.cleaner.selection import Cleanable
    from kcompat.log.config import CleanerConfig
    from kcompat.log.log import Log
    from kcompat.log.manager import LogManager

logger = logging.getLogger(LOG_CLEANER)

_POLL_MS: Final = 20
_LONGEST_DELAY_MS: Final = 1000
"""Longest time in ms until a changed configuration takes effect."""


class Compacted(msgspec.Struct, frozen=True, tag=True):
    """The result of a compaction on request: the log's size before and after, and a problem or None."""

    topic: str
    partition: int
    bytes_before: int
    bytes_after: int
    problem: str | None = None


class _Request:
    """A request to compact a log now; its caller waits for the result."""

    __slots__ = ("before", "log", "outcome", "target")

    def __init__(self, log: Log) -> None:
        self.log = log
        self.before = log.size
        self.target = log.log_end_offset
        self.outcome: Promise[Compacted] = Promise()

    def complete(self, problem: str | None = None) -> None:
        log = self.log
        self.outcome.complete(Compacted(log.topic, log.partition, self.before, log.size, problem))


class LogCleaner:
    """Cleaner of the compacted logs of a `LogManager`, `threads` of them at a time.

    `stable_offset` gives a log's last stable offset, None if this broker does not serve it; `config` the
    configuration in force; `start` starts a runner and may raise OSError.
    """

    def __init__(
        self,
        logs: LogManager,
        clock: Clock,
        config: Callable[[], CleanerConfig],
        stable_offset: Callable[[Log], int | None],
        start: Callable[[CleanJob], Runner],
    ) -> None:
        self._logs = logs
        self._clock = clock
        self._config = config
        self._stable_offset = stable_offset
        self._start_runner = start
        self._running: dict[str, Cleaning] = {}
        self._requests: list[_Request] = []
        self._paused_until_ms: dict[str, int] = {}
        self._idle_since_ms = -inf
        self.uncleanable: dict[tuple[str, bytes], str] = {}
        """Reasons why logs could not be cleaned, by directory and topic id; these logs are skipped until the
        next start. A topic that is created again has another id, so its logs are cleaned."""
        self._timer: Timer | None = None

    # -- start and stop --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Look for a log to clean now, and again every `log.cleaner.backoff.ms`."""
        self._round()

    def stop(self) -> None:
        """Stop the cleanings in progress; none of their results is put in place."""
        if self._timer is not None:
            self._timer.cancel()
        for cleaning in list(self._running.values()):
            self._end(cleaning, problem="the broker stops")
        for request in self._requests:
            request.complete("the broker stops")
        self._requests.clear()

    def compact(self, logs: Iterable[Log]) -> list[Promise[Compacted]]:
        """Clean these logs now, whatever their dirty ratio, up to their log end; each promise gives the
        result.

        The active segment is rolled, since it is never cleaned. `min.compaction.lag.ms` and open transactions
        are respected. Raises StorageError.
        """
        requests = [_Request(log) for log in logs]
        for log in (request.log for request in requests if request.log.config.compacts):
            log.roll(self._clock.now_ms())
            self.uncleanable.pop((log.directory, log.topic_id), None)
        self._requests += requests
        self._round()
        return [request.outcome for request in requests]

    def look_now(self) -> None:
        """Clean the logs that are due now, without waiting for `log.cleaner.backoff.ms` to pass."""
        self._idle_since_ms = -inf
        self._round()

    def bytes_cleaned(self, log: Log) -> int:
        """Return the bytes of a log's old segments that the running cleaning has processed; 0 if no cleaning
        runs.
        """
        cleaning = self._running.get(log.directory)
        if cleaning is None:
            return 0
        return sum(part.size for part in cleaning.job.parts if part.base_offset not in cleaning.pending)

    # -- the rounds ------------------------------------------------------------------------------------------

    def _round(self) -> None:
        """Process the runners' reports, start new cleanings, and schedule the next round, even if one
        cleaning fails.
        """
        config = self._config()
        for cleaning in list(self._running.values()):
            try:
                self._hear(cleaning)
            except Exception as bug:
                self._mark_uncleanable(cleaning.log, repr(bug), bug)
                self._end(cleaning, problem=repr(bug))
        with contained("the choice of a log to clean"):
            while len(self._running) < config.threads and self._begin_next(config):
                pass
        delay_ms = _POLL_MS
        if not self._running:
            delay_ms = max(_POLL_MS, min(config.backoff_ms, _LONGEST_DELAY_MS))
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_later(delay_ms, self._round)

    def _begin_next(self, config: CleanerConfig) -> bool:
        """Start to clean the log that needs it most; return False if no log needs it."""
        now_ms = self._clock.now_ms()
        chosen = self._requested()
        is_idle = now_ms < self._idle_since_ms + config.backoff_ms - _POLL_MS
        if chosen is None and config.enabled and not is_idle:
            chosen = self._dirtiest()
            if chosen is None:
                self._idle_since_ms = now_ms
        if chosen is None:
            return False
        log, cleanable = chosen
        try:
            job = make_job(log, cleanable, config, now_ms)
            runner = self._start_runner(job)
        except OSError as error:
            logger.warning("cleaning %s was not started: %s", log.directory, error)
            self._pause(log, str(error))
            return False
        logger.info(
            "cleaning %s from offset %d to %d: %d bytes dirty, %d clean",
            log.directory,
            cleanable.first_dirty_offset,
            cleanable.upper_offset,
            cleanable.dirty_bytes,
            cleanable.clean_bytes,
        )
        self._running[log.directory] = Cleaning(log, job, runner, now_ms)
        return True

    def _requested(self) -> tuple[Log, Cleanable] | None:
        """Return the first requested log that has something to clean; complete the requests for logs that
        have nothing.
        """
        for request in list(self._requests):
            log = request.log
            if log.directory in self._running:
                continue
            problem = self.uncleanable.get((log.directory, log.topic_id))
            cleanable = None if problem else self._assess(log)
            if cleanable and cleanable.dirty_bytes and cleanable.first_dirty_offset < request.target:
                return log, cleanable
            if cleanable is None and not problem:
                problem = "its cleanup.policy does not contain compact, or its log is offline"
                if self._is_moving(log):
                    problem = "its log is on its way to another directory"
            self._requests.remove(request)
            request.complete(problem)
        return None

    def _dirtiest(self) -> tuple[Log, Cleanable] | None:
        best: tuple[Log, Cleanable] | None = None
        for log in self._logs:
            if (
                not log.config.compacts
                or len(log.local.segments) == 1
                or log.directory in self._running
                or (log.directory, log.topic_id) in self.uncleanable
            ):
                continue
            if self._paused_until_ms.get(log.directory, 0) > self._clock.now_ms():
                continue
            cleanable = self._assess(log)
            if cleanable is None or not cleanable.is_due(log.config.min_cleanable_dirty_ratio):
                continue
            if best is None or cleanable.ratio > best[1].ratio:
                best = log, cleanable
        return best

    def _assess(self, log: Log) -> Cleanable | None:
        """Return the part of a log that can be cleaned; None for a log that must not be cleaned now."""
        if not log.config.compacts or log.is_failed or self._is_moving(log):
            return None
        try:
            stable_offset = self._stable_offset(log)
            if stable_offset is None:
                return None
            begin = first_dirty(self._logs.clean_offset(log), log.log_start_offset, log.log_end_offset)
            return assess(list(log.local.segments), log.config, begin, stable_offset, self._clock.now_ms())
        except OSError as error:
            fault = log.context.fault(error)
            if fault.passes:
                logger.warning("%s", fault)
                self._pause(log, str(fault))
            else:
                self._mark_uncleanable(log, str(fault))
        except Exception as bug:
            self._mark_uncleanable(log, repr(bug), bug)
        return None

    # -- results ---------------------------------------------------------------------------------------------

    def _hear(self, cleaning: Cleaning) -> None:
        for report in cleaning.runner.poll():
            if not self._is_current(cleaning):
                break
            try:
                is_done = self._obey(cleaning, report)
            except StorageError as fault:
                logger.warning("%s", fault)
                self._end(cleaning, problem=str(fault))
                return
            if is_done:
                self._end(cleaning)
                return
        if not self._is_current(cleaning):
            self._end(cleaning, problem="the log has changed meanwhile")

    def _is_current(self, cleaning: Cleaning) -> bool:
        """Return whether the log is unchanged since the cleaning began and its config still asks for
        compaction.
        """
        log = cleaning.log
        return (
            self._logs.get(log.topic, log.partition) is log
            and not log.is_failed
            and not self._is_moving(log)
            and log.cuts == cleaning.cuts
            and log.config.compacts
            and cleaning.pending <= set(log.local.segments.base_offsets)
        )

    def _is_moving(self, log: Log) -> bool:
        """Return whether the log is being copied to another directory, where the copy would not be clean."""
        return self._logs.futures.get(log.topic, log.partition) is not None

    def _obey(self, cleaning: Cleaning, report: Report) -> bool:
        """Act on a report; return whether it was the last one. Raises StorageError."""
        log = cleaning.log
        match report:
            case GroupCleaned(base_offsets):
                self._replace(cleaning, base_offsets)
                return False
            case Finished(end_offset, tally):
                self._logs.set_clean_offset(log, end_offset)
                duration_ms = self._clock.now_ms() - cleaning.started_ms
                logger.info(
                    "%s is clean up to offset %d: kept %d of %d records, %d of %d bytes, %d keys, in %d ms",
                    *(log.directory, end_offset, tally.records_kept, tally.records_read),
                    *(tally.bytes_kept, tally.bytes_read, tally.keys, duration_ms),
                )
            case Damaged(message):
                self._mark_uncleanable(log, message)
            case Interrupted(message):
                logger.warning("cleaning %s is tried again: %s", log.directory, message)
                self._pause(log, message)
            case Failed(number, message):
                raise log.context.fault(OSError(number, os.strerror(number), message))
        return True

    def _replace(self, cleaning: Cleaning, base_offsets: tuple[int, ...]) -> None:
        log = cleaning.log
        old = [segment for segment in log.local.segments if segment.base_offset in base_offsets]
        log.replace_segments(old)
        cleaning.pending.difference_update(base_offsets)
        size = sum(segment.size for segment in old)
        logger.info("%s: %d segments with %d bytes were cleaned", log.directory, len(old), size)

    def _mark_uncleanable(self, log: Log, message: str, bug: Exception | None = None) -> None:
        logger.error("%s cannot be cleaned until the next start: %s", log.directory, message, exc_info=bug)
        self.uncleanable[log.directory, log.topic_id] = message

    def _pause(self, log: Log, problem: str) -> None:
        """Skip the log for `log.cleaner.backoff.ms`, and complete the requests for it with the problem."""
        self._paused_until_ms[log.directory] = self._clock.now_ms() + self._config().backoff_ms
        for request in [request for request in self._requests if request.log is log]:
            self._requests.remove(request)
            request.complete(problem)

    def _end(self, cleaning: Cleaning, problem: str | None = None) -> None:
        log = cleaning.log
        cleaning.runner.stop()
        del self._running[log.directory]
        if problem is not None:
            logger.info("cleaning %s was given up: %s", log.directory, problem)
            self._pause(log, problem)
        if cleaning.pending:
            self._remove_leftovers(log)

    def _remove_leftovers(self, log: Log) -> None:
        files = log.context.files
        with contextlib.suppress(OSError):  # the log may be gone; leftovers are removed at its next cleaning
            names = [name for name in files.list(log.directory) if name.endswith(CLEANED)]
            files.remove(f"{log.directory}/{name}" for name in names)


def make_job(log: Log, cleanable: Cleanable, config: CleanerConfig, now_ms: int) -> CleanJob:
    """Return the job for a runner, with the sizes of the segments and the configs as they are now."""
    log_config = log.config
    files = log.context.files
    return CleanJob(
        directory=log.directory,
        parts=tuple(
            SegmentPart(
                segment.base_offset,
                segment.size,
                segment.offset_index.size,
                segment.time_index.size,
                files.modified_ms(segment.path + LOG),
            )
            for segment in log.local.segments
            if segment.base_offset < cleanable.upper_offset
        ),
        first_dirty_offset=cleanable.first_dirty_offset,
        rules=Rules(
            now_ms=now_ms,
            delete_retention_ms=log_config.delete_retention_ms,
            max_message_bytes=log_config.max_message_bytes,
            upper_offset=cleanable.upper_offset,
            producers={entry.producer_id: (entry.last_offset, entry.epoch) for entry in log.producers},
        ),
        segment_bytes=log_config.segment_bytes,
        segment_index_bytes=log_config.segment_index_bytes,
        index_interval_bytes=log_config.index_interval_bytes,
        map_bytes=config.dedupe_buffer_bytes // max(config.threads, 1),
        load_factor=config.load_factor,
        bytes_per_second=config.bytes_per_second / max(config.threads, 1),
    )
