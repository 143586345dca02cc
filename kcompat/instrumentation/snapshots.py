"""Snapshots of a running broker, which can be restored in milliseconds.

A restore is a restart in place: the broker ends as by kill -9, its metadata and its logs are restored, and it
starts again on the same port. So nothing since the snapshot can be left in its memory, and its clients see a
restarted broker.
"""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from msgspec import Struct

from kcompat.errors import SnapshotError, UsageError
from kcompat.instrumentation.turns import turns
from kcompat.log.images import LogImage
from kcompat.log.rewinding import MarkedLog, rewind
from kcompat.node.garbage import no_collection
from kcompat.node.storage_parts import default_log_config
from kcompat.store.process_session import ProcessSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.log.log import Log
    from kcompat.node.broker import BrokerNode
    from kcompat.store.tree import StoredNode

DIRECTORY: Final = ".kcompat-snapshots"
"""Name of the directory with the files of snapshots, in each log directory; Kafka ignores it."""


class Snapshot(Struct, frozen=True, eq=False):
    """The state of a broker at one time, for `Snapshots.restore`. Its files are removed with it."""

    owner: Snapshots
    nodes: Mapping[str, StoredNode]
    """All nodes of the metadata store, by path."""
    logs: Mapping[tuple[str, int], MarkedLog]
    """All logs of the broker, by topic and partition."""
    producer_ids: tuple[int, int]
    """The rest of the block of producer ids (`ProducerIds.rest`)."""

    def __repr__(self) -> str:
        topics = {topic for topic, _ in self.logs}
        return f"<Snapshot of {len(topics)} topics with {len(self.logs)} partitions>"


class Snapshots:
    """The snapshots of one broker, for as long as it runs. All calls belong to its event loop."""

    def __init__(self, node: BrokerNode) -> None:
        """Create snapshots of a running broker."""
        self._node = node
        self._turns = turns(node)
        self._is_running = True
        # The files of an earlier run's snapshots are removed under their names, whenever that is.
        self._run = f"{node.parts.environment.random.getrandbits(64):016x}"
        self._numbers = itertools.count(1)
        self._images: WeakValueDictionary[tuple[str, int], LogImage] = WeakValueDictionary()
        self._paths = [directory.path for directory in node.parts.storage.logs.directories]
        self._remove_directories()  # a broker that was killed has left them
        self._initial: Snapshot | str
        try:
            self._insist_on_no_records()
            self._initial = self._take()
        except UsageError as reason:
            self._initial = str(reason)

    def close(self) -> None:
        """Remove the files of all snapshots, which cannot be restored any more."""
        self._is_running = False
        self._remove_directories()

    async def take(self) -> Snapshot:
        """Return the state of the broker now. Clients notice nothing; the files of records are copied.

        Raises:
            UsageError: the broker is in a state that cannot be restored.
            SnapshotError: the files cannot be copied.
        """
        async with self._turns.shared():
            try:
                return self._take()
            except OSError as error:
                raise SnapshotError(f"the snapshot cannot be stored: {error.strerror}") from error

    async def reset(self) -> None:
        """Return the broker to the state at the creation of this object, in which all topics were empty.

        Raises:
            UsageError: the broker had records at that time.
            SnapshotError: the broker could not start again, and is stopped.
        """
        if isinstance(self._initial, str):
            raise UsageError(self._initial)
        await self.restore(self._initial)

    async def restore(self, snapshot: Snapshot) -> None:
        """Return the broker to a snapshot, as if it had been killed after the snapshot and started again.

        Raises:
            UsageError: the snapshot is not of this broker, or its files are gone; nothing has changed.
            SnapshotError: the broker could not start again, and is stopped.
        """
        if not isinstance(snapshot, Snapshot):
            raise UsageError(f"{snapshot!r} is no snapshot: use what snapshot() has returned")
        if snapshot.owner is not self:
            raise UsageError("the snapshot is of another broker, or of this one before it was stopped")
        if any(one.image.is_lost for one in snapshot.logs.values()):
            raise UsageError(f"the files of the snapshot are gone: they were removed from {DIRECTORY}")
        async with self._turns.alone():
            if not self._is_running:
                raise UsageError("the broker is stopped: start it again before it goes back")
            self._insist_on_disks()
            self._is_running = False
            try:
                with no_collection():
                    await self._node.restart(lambda: self._put_back(snapshot))
            except Exception as error:
                raise SnapshotError(f"the broker could not go back, and is stopped: {error}") from error
            self._is_running = True
            self._node.parts.coordinators.services.producer_ids.resume(snapshot.producer_ids)

    @property
    def is_running(self) -> bool:
        """Whether the broker runs: it does not during a reset or restore, nor after a failed one."""
        return self._is_running

    def _insist_on_disks(self) -> None:
        files = self._node.parts.environment.files
        for path in self._paths:
            try:
                files.list(path)
            except OSError as error:
                raise UsageError(
                    f"the disk of {path} fails ({error.strerror}): end the fault before the broker goes back"
                ) from error

    async def _put_back(self, snapshot: Snapshot) -> ProcessSession:
        parts = self._node.parts
        session = await self._session.rewind(snapshot.nodes)
        clock, config = parts.environment.clock, parts.config.current
        rewind(parts.storage.logs, snapshot.logs, default_log_config(config), clock.now_ms())
        return session

    @property
    def _session(self) -> ProcessSession:
        parts = self._node.parts
        if not parts.services.cluster.keeps_metadata:
            raise UsageError("other brokers may use the metadata of this broker, so it cannot go back alone")
        assert isinstance(parts.session, ProcessSession), "metadata of its own is in its process"
        return parts.session

    def _insist_on_no_records(self) -> None:
        if any(log.log_end_offset for log in self._node.parts.storage.logs):
            raise UsageError(
                "the broker had records already when it was started, of which reset() has no copy: "
                "take mark = broker.snapshot() after the start, and call broker.restore(mark)"
            )

    def _take(self) -> Snapshot:
        parts = self._node.parts
        logs = parts.storage.logs
        for directory in logs.directories:
            if directory.offline is not None:
                raise UsageError(f"the log directory {directory.path} is offline: its logs cannot be copied")
        if any(logs.futures):
            raise UsageError("a replica is moving to another log directory: wait until it is there")
        marked = {(log.topic, log.partition): self._marked(log) for log in logs}
        return Snapshot(self, self._session.nodes(), marked, parts.coordinators.services.producer_ids.rest)

    def _marked(self, log: Log) -> MarkedLog:
        storage, key = self._node.parts.storage, (log.topic, log.partition)
        image = self._images.get(key)
        if image is None or not image.shows(log):
            place = f"{log.context.path}/{DIRECTORY}/{self._run}-{next(self._numbers)}"
            image = self._images[key] = LogImage(log, place)
        partition = storage.replicas.get(*key)
        high_watermark = storage.logs.high_watermark(log) if partition is None else partition.high_watermark
        return MarkedLog(image, high_watermark, storage.logs.clean_offset(log))

    def _remove_directories(self) -> None:
        for path in self._paths:
            shutil.rmtree(Path(path) / DIRECTORY, ignore_errors=True)
