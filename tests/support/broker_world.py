"""A whole broker without sockets, threads or time of its own: its metadata store is a list of transactions,
its storage thread works when it is told to, its clock stands still.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from unittest import mock

from kcompat.cluster.embedded import EmbeddedStore
from kcompat.cluster.tree import Tree
from kcompat.cluster.znodes import BrokerRegistration
from kcompat.config.broker import BrokerConfig
from kcompat.log.cleaner.runners import StepRunner
from kcompat.log.files import FILES
from kcompat.node.broker import BrokerNode
from support.disk import Commit, Disk
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from kcompat.cluster.tree import Node
    from kcompat.net.listener import Listener
    from kcompat.promise import Promise
    from support.disk import Operation

T = TypeVar("T")


class LazyWorker:
    """The storage thread, when it is slow: it does nothing before `work` or `close`."""

    def __init__(self, _threads: int = 1) -> None:
        self.waiting: list[Callable[[], object]] = []

    def submit(self, work: Callable[[], object]) -> None:
        """See `Worker.submit`."""
        self.waiting.append(work)

    def work(self) -> None:
        """Do what was submitted so far, and what follows from it."""
        while self.waiting:
            self.waiting.pop(0)()

    close = work


class EagerWorker(LazyWorker):
    """The storage thread, when it is quick: what is submitted is done at once."""

    def submit(self, work: Callable[[], object]) -> None:
        """See `Worker.submit`."""
        work()


class _ListedTransactions:
    """A journal of the metadata store that goes on where a disk is, and notes what is committed."""

    def __init__(self, disk: Disk, operations: list[Operation]) -> None:
        self._disk = disk
        self._operations = operations

    def load(self) -> Tree:
        return Tree(self._disk.zxid, self._disk.nodes.items())

    async def write(self, zxid: int, staged: dict[str, Node | None]) -> None:
        self._operations.append(Commit(zxid, dict(staged)))

    def close(self) -> None:
        return


class _NoSocket:
    """In place of the broker's admin socket."""

    def __init__(self, *_: object) -> None:
        pass

    async def open(self) -> None:
        pass

    def close(self) -> None:
        pass


class BrokerWorld(BrokerNode):
    """A broker whose files are in `home`; what it commits to its metadata store goes to `operations`."""

    def __init__(
        self, home: Path, settings: Mapping[str, str], disk: Disk, operations: list[Operation], now_ms: int
    ) -> None:
        super().__init__(BrokerConfig({"broker.id": "1", "log.dirs": str(home), **settings}))
        self._transactions = _ListedTransactions(disk, operations)
        self.clock = VirtualClock(now_ms)

    async def _open_store(self) -> EmbeddedStore:
        store = EmbeddedStore(self._transactions, self.clock.now_ms)
        self._stops.append(store.close)
        return store

    def _open_listeners(self) -> list[Listener]:
        return []

    def _registration(self, _listeners: object) -> BrokerRegistration:
        return BrokerRegistration({"PLAINTEXT": ("localhost", 9092)}, {"PLAINTEXT": "PLAINTEXT"}, None)

    async def start(self) -> None:
        """See `BrokerNode.start`; timers that are due at once have run after it."""
        with (
            mock.patch("kcompat.node.broker.LoopClock", return_value=self.clock),
            mock.patch("kcompat.node.broker.AdminSocket", _NoSocket),
        ):
            await super().start()
        self.clock.advance()

    def kill(self) -> None:
        """Stop without doing anything more."""
        self._stops.clear()
        running: asyncio.Task[Any] | None = self.controller._running
        if running is not None:
            running.cancel()
        for directory in self.logs.directories:
            directory.abandon()

    async def answer(self, promise: Promise[T]) -> T:
        """What a promise is completed with, now."""
        for _ in range(100):
            if promise.done:
                return promise.value
            await asyncio.sleep(0)
            self.clock.advance()
        raise AssertionError("nobody completed the promise")


@contextmanager
def one_thread(worker: type[LazyWorker]) -> Iterator[None]:
    """Brokers started in here have this storage thread, and clean in this process."""
    with ExitStack() as patches:
        patches.enter_context(mock.patch("kcompat.log.manager.Worker", worker))
        patches.enter_context(
            mock.patch("kcompat.log.cleaner.runners.start", lambda job: StepRunner(job, FILES))
        )
        yield
