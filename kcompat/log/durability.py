"""Syncs of a log by `flush.messages` and `flush.ms`, and the appends that wait for them.

Kafka syncs inside the append that reaches `flush.messages`, so that nothing is acknowledged or read before it
is on the device. Here the append returns before its sync. Until the sync has ended, `unsynced_from` delays
responses and the high watermark. Everything appended during a sync shares the next one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from kcompat.log.flushes import Flushes

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.log.config import LogConfig
    from kcompat.log.context import LogContext
    from kcompat.log.flushes import Flush

NONE_WAITS: Final = 2**63 - 1
"""`unsynced_from` of a log without waiting appends: an offset that no log reaches."""


class SyncedLog(Protocol):
    """The log that is to be synced."""

    log_end_offset: int

    @property
    def is_failed(self) -> bool:
        """Whether the log takes no more appends."""

    def begin_flush(self) -> Flush:
        """Return a sync of the whole log, which the caller runs. Raises OSError."""


class Durability:
    """The recovery point of one log, and the syncs that appends wait for.

    One sync runs at a time, on a helper thread, while the event loop goes on. Times in ms.
    """

    __slots__ = (
        "_awaited_end",
        "_config",
        "_context",
        "_is_busy",
        "_is_wanted",
        "due_at",
        "flushes",
        "last_flush_ms",
        "on_synced",
        "unsynced_from",
    )

    def __init__(self, context: LogContext, config: LogConfig, recovery_point: int, now_ms: int) -> None:
        self._context = context
        self._config = config
        self.flushes = Flushes(context, recovery_point)
        self.last_flush_ms = now_ms
        self.due_at = recovery_point + config.flush_messages
        """Log end at which an append has to wait for a sync (`hold`)."""
        self.unsynced_from = NONE_WAITS
        """First offset that must not be acknowledged or read, because it is not on the device yet."""
        self.on_synced: Callable[[], object] | None = None
        """Called whenever a sync that `unsynced_from` waits for has ended, also if the log has failed."""
        self._awaited_end = 0
        self._is_busy = False
        self._is_wanted = False

    def configure(self, config: LogConfig) -> None:
        """Apply a changed topic configuration."""
        self._config = config
        self.due_at = self.flushes.recovery_point + config.flush_messages

    def hold(self, log: SyncedLog, base_offset: int, now_ms: int) -> None:
        """Keep what was appended from `base_offset` on unacknowledged until a sync, which begins soon."""
        self.last_flush_ms = now_ms
        self._awaited_end = log.log_end_offset
        self.due_at = self._awaited_end + self._config.flush_messages
        self.unsynced_from = min(self.unsynced_from, base_offset)
        self._request(log)

    def flush_if_due(self, log: SyncedLog, now_ms: int) -> None:
        """Start a background sync if `flush.ms` have passed since the last one."""
        if now_ms - self.last_flush_ms >= self._config.flush_ms:
            self.last_flush_ms = now_ms
            if log.log_end_offset > self.flushes.recovery_point:
                self._request(log)

    def sync_soon(self, log: SyncedLog) -> None:
        """Sync the whole log in the background; the recovery point shows when it is done."""
        self._request(log)

    def flush(self, log: SyncedLog, now_ms: int | None) -> None:
        """Sync the whole log and return when it is done. Raises StorageError."""
        if now_ms is not None:
            self.last_flush_ms = now_ms
        end_offset = log.log_end_offset
        if end_offset > self.flushes.recovery_point:
            with self._context.faults():
                flush = log.begin_flush()
            flush.run()
            if self.flushes.recovery_point < end_offset:
                raise self._context.out_of_service("a sync has failed")
        self.due_at = end_offset + self._config.flush_messages

    def cut(self, offset: int) -> None:
        """Stop waiting for a sync of offsets from `offset` on, which were truncated."""
        self.flushes.cut(offset)
        self._awaited_end = min(self._awaited_end, offset)
        self.due_at = self.flushes.recovery_point + self._config.flush_messages

    def _request(self, log: SyncedLog) -> None:
        """Start a sync after this iteration of the event loop, or after the sync in progress."""
        self._is_wanted = True
        if not self._is_busy:
            self._is_busy = True
            self._context.soon(partial(self._start, log))

    def _start(self, log: SyncedLog) -> None:
        self._is_wanted = False
        if log.is_failed:
            self._ended(log)
            return
        try:
            flush = log.begin_flush()
        except Exception as error:
            self._context.lasting_fault(error)
            self._ended(log)
        else:
            self._context.sync(flush.run, partial(self._ended, log))

    def _ended(self, log: SyncedLog) -> None:
        """Release the offsets that a finished sync brought to the device, and sync what was appended since.

        A failed sync releases nothing.
        """
        point = self.flushes.recovery_point
        if point >= self._awaited_end:
            self.unsynced_from = NONE_WAITS
        elif point > self.unsynced_from:
            self.unsynced_from = point
        self._is_busy = False
        if not log.is_failed and (self._is_wanted or point < self._awaited_end):
            self._is_busy = True
            self._start(log)
        if self.on_synced is not None:
            self.on_synced()
