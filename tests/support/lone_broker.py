"""A whole broker without sockets, threads or time of its own: its metadata store is a list of transactions,
its storage thread works when it is told to, its clock stands still.
"""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random
from typing import TYPE_CHECKING, TypeVar

from kcompat.config.broker import BrokerConfig
from kcompat.log.cleaner.runners import StepRunner
from kcompat.log.files import FILES
from kcompat.net.outbound import Ending
from kcompat.node.broker import BrokerNode
from kcompat.node.environment import Environment
from kcompat.store.process_store import ProcessStore
from kcompat.store.tree import Tree
from support.disk import Commit
from support.storage_workers import EagerWorker, LazyWorker
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from kcompat.clock import Clock
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.controller.decisions import Decisions
    from kcompat.group.coordinator import GroupCoordinator
    from kcompat.log.files import Files
    from kcompat.log.manager import LogManager
    from kcompat.net.answers import FrameHandler
    from kcompat.net.hub import Hub
    from kcompat.net.outbound import Receiver
    from kcompat.promise import Promise
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.store.tree import Staged
    from support.disk import Disk, DiskOperation

T = TypeVar("T")

HOST_NAME = "this-host.example.com"
"""Name of the host that the broker is on."""


class ListedTransactions:
    """A journal of the metadata store that goes on where a disk is, and notes what is committed."""

    def __init__(self, disk: Disk, operations: list[DiskOperation]) -> None:
        self._disk = disk
        self._operations = operations

    def load(self) -> Tree:
        return Tree(self._disk.zxid, self._disk.nodes.items())

    async def write(self, zxid: int, staged: Staged) -> None:
        self._operations.append(Commit(zxid, dict(staged.nodes)))

    def close(self) -> None:
        return


class NoAdministration:
    """Nobody gives commands."""

    def __init__(self, *_: object) -> None:
        pass

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass


class BrokerFixture:
    """A broker whose files are in `home`; what it commits to its metadata store goes to `operations`."""

    def __init__(
        self,
        home: Path,
        settings: Mapping[str, str],
        disk: Disk,
        operations: list[DiskOperation],
        now_ms: int,
        *,
        files: Files = FILES,
        worker: type[LazyWorker] = EagerWorker,
        wrap: Callable[[Environment], Environment] = lambda environment: environment,
    ) -> None:
        """`wrap` gives the broker other ports in place of these."""
        self.clock = VirtualClock(now_ms)
        self.workers: list[LazyWorker] = []

        def start_worker(_name: str, _threads: int) -> LazyWorker:
            self.workers.append(worker())
            return self.workers[-1]

        def open_store(_config: BrokerConfig, clock: Clock) -> ProcessStore:
            return ProcessStore(ListedTransactions(disk, operations), clock.now_ms)

        environment = Environment(
            clock=self.clock,
            random=Random(now_ms),
            files=files,
            start_worker=start_worker,
            start_cleaning=lambda job: StepRunner(job, files, lambda: self.clock.now_ms() / 1000),
            open_store=open_store,
            bind=_Unreachable,
            connect=partial(_NoConnection, self.clock),
            host_name=_host_name,
            administration=NoAdministration,
        )
        config = BrokerConfig({"broker.id": "1", "log.dirs": str(home), **settings})
        self.node = BrokerNode(config, wrap(environment))

    @property
    def logs(self) -> LogManager:
        """The broker's logs."""
        return self.node.parts.storage.logs

    @property
    def cluster(self) -> MetadataCache:
        """The cluster as the broker knows it."""
        return self.node.parts.storage.metadata

    @property
    def replicas(self) -> ReplicaManager:
        """The broker's partitions."""
        return self.node.parts.storage.replicas

    @property
    def decisions(self) -> Decisions:
        """The broker's requests to the controller."""
        return self.node.parts.cluster.decisions

    @property
    def groups(self) -> GroupCoordinator:
        """The groups the broker coordinates."""
        return self.node.parts.coordinators.groups

    async def start(self) -> None:
        """Start the broker, and run the timers that are due at once."""
        await self.node.start()
        self.clock.advance()

    async def stop(self) -> None:
        await self.node.stop()

    def kill(self) -> None:
        """The process is no more: its locks are free, and nothing else is done."""
        for directory in self.logs.directories:
            directory.abandon()

    def work(self) -> None:
        """Let the storage threads catch up."""
        for worker in self.workers:
            worker.work()

    async def answer(self, promise: Promise[T]) -> T:
        """Return the value of a promise that needs no time to pass."""
        for _ in range(100):
            if promise.done:
                return promise.value
            await asyncio.sleep(0)
            self.clock.advance()
        raise AssertionError("nobody completed the promise")


async def _host_name() -> str:
    return HOST_NAME


class _Unreachable:
    """A listener that nobody connects to."""

    def __init__(self, name: str, host: str, port: int, **_: object) -> None:
        self.name, self.host, self.port = name, host, port

    def start(self, hub: Hub, handler: FrameHandler) -> None:
        pass

    def pause(self) -> None:
        pass

    def close(self) -> None:
        pass


class _NoConnection:
    """A connection to another broker that is refused."""

    def __init__(
        self, clock: VirtualClock, _address: tuple[str, int], receiver: Receiver, **_: object
    ) -> None:
        self._ended = clock.call_later(0, lambda: receiver.ended(Ending.REFUSED))

    def send(self, pieces: Sequence[bytes | bytearray | memoryview]) -> None:
        """Nobody has accepted."""
        raise AssertionError("sent on a connection that was never there")

    def close(self) -> None:
        self._ended.cancel()
