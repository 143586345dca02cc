"""Reports of a broker's failed log directories to the controller.

A controller in this process gets the failed replicas. A controller elsewhere finds a notification in the
store, and asks the broker which replicas failed (Kafka's `KafkaZkClient.propagateLogDirEvent`).
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from kcompat.cluster.znodes import LOG_DIR_EVENTS, encode_log_dir_event
from kcompat.controller.offline_replicas import ReplicasFailed
from kcompat.logger_names import CONTROLLER
from kcompat.store.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.clock import Clock, Timer
    from kcompat.controller.controller_election import ControllerElection
    from kcompat.store.interface import MetadataStore

RETRY_MS = 1000
"""Pause in ms before a notification is written again after a failed attempt."""

_log = logging.getLogger(CONTROLLER)


class LogDirReports:
    """The reports of one broker's failed log directories."""

    def __init__(
        self, broker_id: int, store: MetadataStore, controller_election: ControllerElection, clock: Clock
    ) -> None:
        """Prepare the reports; `controller_election` tells whether the controller is in this process."""
        self._broker_id = broker_id
        self._store = store
        self._controller_election = controller_election
        self._clock = clock
        self._leaving: asyncio.Task[None] | None = None
        self._retry: Timer | None = None

    def replicas_failed(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Report that this broker cannot serve these partitions any more: their log directory is offline."""
        if self._controller_election.is_here:
            self._controller_election.report(ReplicasFailed(self._broker_id, frozenset(partitions)))
        elif self._leaving is None:
            self._notify()

    async def stop(self) -> None:
        """Stop reporting, and wait for the notification being written."""
        self.abandon()
        if self._leaving is not None:
            await asyncio.wait([self._leaving])

    def abandon(self) -> None:
        """Stop reporting at once, without waiting for a notification that is being written."""
        if self._retry is not None:
            self._retry.cancel()
        if self._leaving is not None:
            self._leaving.cancel()

    def _notify(self) -> None:
        self._leaving = asyncio.create_task(self._leave_notification(), name="log-dir-report")

    async def _leave_notification(self) -> None:
        try:
            path = f"{LOG_DIR_EVENTS}/log_dir_event_"
            await self._store.create(path, encode_log_dir_event(self._broker_id), sequential=True)
        except StoreError as error:  # a notification written nevertheless does no harm
            _log.warning("a failed log directory could not be reported to the controller: %s", error)
            self._retry = self._clock.call_later(RETRY_MS, self._notify)
        else:
            self._leaving = None
