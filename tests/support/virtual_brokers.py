"""Whole brokers, several in one process: one virtual clock, one virtual network, all chance from a seed.

What is real: the brokers, and the files they write. What they do is written down as it happens: what arrives
on the network, every change of a file, every transaction of a metadata store.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import TYPE_CHECKING

from kcompat.config.broker import BrokerConfig
from kcompat.log.cleaner.runners import StepRunner
from kcompat.node.broker import BrokerNode
from kcompat.node.environment import Environment
from kcompat.store.process_store import ProcessStore
from support.disk import Disk
from support.lone_broker import ListedTransactions, NoAdministration
from support.recorded_files import RecordingFiles
from support.virtual_loop import VirtualLoopClock
from support.virtual_network import VirtualNetwork

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kcompat.clock import Clock
    from kcompat.store.interface import Sessions
    from support.disk import DiskOperation
    from support.virtual_loop import VirtualLoop
    from support.virtual_network import Address

SLOWEST_WORK_S = 0.02


class Events(list[str]):
    """The events of a simulation, with the loop's time."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def happened(self, what: str) -> None:
        """Add an event at the current time."""
        self.append(f"{self._loop.time():.6f} {what}")


class VirtualBrokers:
    """The brokers of one simulation, and the network they are on."""

    def __init__(
        self,
        loop: VirtualLoop,
        home: Path,
        seed: str,
        told: Callable[[str], object] | None = None,
        store: Callable[[int], Sessions] | None = None,
        files: Callable[[int, Path], RecordingFiles] | None = None,
    ) -> None:
        """`told` hears of every byte, the events if nobody is given. `store` is the metadata store as a
        broker has it; without it each broker has one of its own. `files` makes the files below a broker's
        home, in each of its lives.
        """
        self.random = Random(seed)
        self.events = Events(loop)
        self.told = told or self.events.happened
        self.network = VirtualNetwork(Random(f"{seed} network"), self.told)
        self.files: dict[int, RecordingFiles] = {}
        """Files of each broker since its latest start."""
        self._store = store
        self._files = files or (lambda _, home: RecordingFiles(home))
        self._loop = loop
        self._home = home
        self._seed = seed
        self._stores: dict[int, list[DiskOperation]] = {}
        self._lives = 0

    def home_of(self, broker_id: int) -> Path:
        """The directory of a broker."""
        return self._home / str(broker_id)

    def broker(self, broker_id: int, settings: Mapping[str, str]) -> BrokerNode:
        """A broker, not started yet; one of an id that was here before goes on where that one ended."""
        self._lives += 1
        home = self.home_of(broker_id)
        home.mkdir(exist_ok=True)
        files = self.files[broker_id] = self._files(broker_id, home)
        files.operations = Told(files.operations, lambda what: self.told(f"{broker_id}: {what}"))
        transactions = self._stores.setdefault(broker_id, [])
        random = Random(f"{self._seed} {broker_id} {self._lives}")
        clock = VirtualLoopClock(self._loop)
        host, _ = address_of(broker_id)

        async def host_name() -> str:
            return host

        def open_store(_config: BrokerConfig, clock: Clock) -> Sessions:
            if self._store is not None:
                return self._store(broker_id)
            return ProcessStore(ListedTransactions(Disk(transactions), transactions), clock.now_ms)

        environment = Environment(
            clock=clock,
            random=random,
            files=files,
            start_worker=lambda _name, _threads: SlowWorker(self._loop, random),
            start_cleaning=lambda job: StepRunner(job, files, self._loop.time),
            open_store=open_store,
            bind=self.network.bind,
            connect=self.network.connector(host),
            host_name=host_name,
            administration=NoAdministration,
        )
        listeners = {"listeners": f"PLAINTEXT://{host}:9092"}
        return BrokerNode(
            BrokerConfig({"broker.id": str(broker_id), "log.dirs": str(home), **listeners, **settings}),
            environment,
        )


def address_of(broker_id: int) -> Address:
    """Where clients find a broker."""
    return f"broker-{broker_id}", 9092


class Told(list["DiskOperation"]):
    """A list that says what is added to it."""

    def __init__(self, items: list[DiskOperation], say: Callable[[str], object]) -> None:
        super().__init__(items)
        self._say = say

    def append(self, item: DiskOperation) -> None:
        """Add an operation."""
        super().append(item)
        self._say(repr(item))


class SlowWorker:
    """Threads whose work takes a while, as chance has it; what it does is done at once, at its end."""

    def __init__(self, loop: VirtualLoop, random: Random) -> None:
        self._loop = loop
        self._random = random
        self._waiting: deque[Callable[[], object]] = deque()

    def submit(self, work: Callable[[], object]) -> None:
        self._waiting.append(work)
        self._loop.call_later(self._random.uniform(0, SLOWEST_WORK_S), self._do_one)

    def _do_one(self) -> None:
        if self._waiting:
            self._waiting.popleft()()

    def close(self) -> None:
        while self._waiting:
            self._do_one()
