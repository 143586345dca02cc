"""Appends that wait for the device (`flush.messages`), and syncs that they share.

Kafka syncs inside the append that reaches `flush.messages`, so that neither an acknowledgement nor a consumer
is ahead of the device. Here the append is done before its sync, and until that has ended `unsynced_from` of
the log keeps answers and the high watermark back. All that is appended during a sync shares the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kcompat.log.local_log import LocalLog

NONE_WAITS: Final = 2**63 - 1
"""An offset that no log comes to."""


class GroupCommit:
    """The syncs of one log: one at a time, on a helper thread, the event loop goes on meanwhile."""

    __slots__ = ("_due_end", "_is_busy", "_is_wanted", "_log")

    def __init__(self, log: LocalLog) -> None:
        self._log = log
        self._due_end = 0
        self._is_busy = False
        self._is_wanted = False

    def hold(self, base_offset: int) -> None:
        """The append from `base_offset` to the log end waits until it is on the device."""
        log = self._log
        log.unsynced_from = min(log.unsynced_from, base_offset)
        self._due_end = log.log_end_offset
        self.request()

    def request(self) -> None:
        """Sync what is there by the end of this turn of the loop, or of the sync under way."""
        self._is_wanted = True
        if not self._is_busy:
            self._is_busy = True
            self._log.context.soon(self._start)

    def cut(self, offset: int) -> None:
        """The log was cut at `offset`: nothing above is waited for."""
        self._due_end = min(self._due_end, offset)

    def _start(self) -> None:
        log = self._log
        self._is_wanted = False
        if log.is_failed:
            self._ended()
            return
        try:
            flush = log.begin_flush()
        except Exception as error:
            log.context.failed_sync(error)
            self._ended()
        else:
            log.context.sync(flush.run, self._ended)

    def _ended(self) -> None:
        """A sync has ended, well or not: let go of what is on the device, and go on with what came since."""
        log = self._log
        point = log.recovery_point
        if point >= self._due_end:
            log.unsynced_from = NONE_WAITS
        elif point > log.unsynced_from:
            log.unsynced_from = point
        self._is_busy = False
        if not log.is_failed and (self._is_wanted or point < self._due_end):
            self._is_busy = True
            self._start()
        if log.on_synced is not None:
            log.on_synced()
