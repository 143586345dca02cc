"""A cluster of whole brokers over one metadata store, on virtual time, and all that may befall them.

A broker is started, stopped, killed, or loses its power; a disk of it becomes full, or fails; its links to
others are cut, slowed, or let through one way only; the store is cut off from it, with or without the end of
its session. Clients reach every broker that runs.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from kcompat.cluster.registration import BrokerIdInUseError
from kcompat.log.errors import LogDirectoryError, StorageError
from kcompat.node.cluster import BorrowedStore
from kcompat.store.tree import Tree
from support.disk import Disk, Fate, PowerCut
from support.guarded_store import GuardedStore
from support.troubled_disks import DiskTrouble, TroubledFiles
from support.virtual_brokers import VirtualBrokers, address_of
from support.virtual_loop import VirtualLoopClock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from random import Random

    from kcompat.node.broker import BrokerNode
    from kcompat.store.tree import Staged
    from support.virtual_loop import VirtualLoop
    from support.virtual_network import Address, VirtualClient

SESSION_TIMEOUT_MS: Final = 3000
SLOWEST_TRANSACTION_S: Final = 0.01
SETTINGS: Final[Mapping[str, str]] = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "100",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.session.timeout.ms": "3000",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "300",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "2000",
    "group.share.initialize.retry.interval.ms": "1000",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.session.timeout.ms": "3000",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.heartbeat.interval.ms": "300",
    "group.streams.initial.rebalance.delay.ms": "100",
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "request.timeout.ms": "3000",
    "zookeeper.connect": "simulated:2181",  # sessions outlive processes, and brokers remember theirs
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.max.bytes": "600",  # so that who is behind has to ask more than once
    "replica.fetch.wait.max.ms": "200",
    "replica.socket.timeout.ms": "2000",
    "controller.socket.timeout.ms": "2000",
    "controlled.shutdown.retry.backoff.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "leader.imbalance.check.interval.seconds": "5",
    "log.cleaner.enable": "false",
    "log.segment.bytes": "3000",
    "file.delete.delay.ms": "1000",
}


class VirtualCluster:
    """Brokers 1, 2, 3, ...; `running` are those that serve. `traffic` is a digest of all that was sent and
    written.
    """

    always_name_a_broker = True

    def __init__(
        self,
        loop: VirtualLoop,
        home: Path,
        seed: str,
        size: int,
        settings: Mapping[str, str] = SETTINGS,
        disks: int = 1,
    ) -> None:
        """`disks` is how many each broker has, with a log directory on each."""
        self.broker_ids = list(range(1, size + 1))
        self.disk_names = [f"disk{number}" for number in range(1, disks + 1)]
        self.disks = {broker_id: DiskTrouble() for broker_id in self.broker_ids}
        self._settings = settings
        self.running: dict[int, BrokerNode] = {}
        self._lives: list[BrokerNode] = []
        """Each process that ran. One that was killed does nothing more: the collector would end its tasks at
        any time, and that would show in the log.
        """
        self.starting: dict[int, asyncio.Task[None]] = {}
        self.stopping: dict[int, BrokerNode] = {}
        self.without_power: dict[int, Disk] = {}
        """Disks of brokers without power that are still in some ISR, as the power cut left them."""
        self._bytes = sha256()
        self._loop = loop
        self._clock = VirtualLoopClock(loop)
        self.brokers = VirtualBrokers(
            loop,
            home,
            seed,
            self._told,
            self._borrow,
            lambda broker_id, files_home: TroubledFiles(files_home, self.disks[broker_id]),
        )
        self.events = self.brokers.events
        self.random: Random = self.brokers.random
        self.network = self.brokers.network
        self.store = GuardedStore(_SlowJournal(self.random), self._clock.now_ms)
        self._sessions: dict[int, BorrowedStore] = {}

    def _told(self, what: str) -> None:
        self._bytes.update(f"{self._loop.time():.6f} {what}\n".encode())

    @property
    def traffic(self) -> str:
        """Changes with each byte that is sent or written."""
        return self._bytes.hexdigest()[:16]

    @property
    def now_s(self) -> float:
        """Seconds since the story began."""
        return self._loop.time()

    def happened(self, what: str) -> None:
        """Write down what happens to the cluster, with the digest of all that went before."""
        self.events.happened(f"{self.traffic} {what}")

    def _borrow(self, broker_id: int) -> BorrowedStore:
        session = self._sessions[broker_id] = BorrowedStore(self.store, self._clock)
        return session

    # -- lives -------------------------------------------------------------------------------------------

    def start(self, broker_id: int) -> None:
        """Have a broker start; what keeps it from that is raised by `started`."""
        self.happened(f"broker {broker_id} starts")
        self.starting[broker_id] = asyncio.ensure_future(self._start(broker_id))

    async def _start(self, broker_id: int) -> None:
        home = self.brokers.home_of(broker_id)
        log_dirs = {"log.dirs": ",".join(f"{home}/{name}" for name in self.disk_names)}
        node = self.brokers.broker(broker_id, {**self._settings, **log_dirs})
        self._lives.append(node)
        try:
            await node.start()
        except (LogDirectoryError, StorageError, BrokerIdInUseError) as error:
            if not self.disks[broker_id].were_troubled:
                raise
            self.happened(f"broker {broker_id} does not start: {type(error).__name__}")
            return
        self.running[broker_id] = node
        self.happened(f"broker {broker_id} serves")

    async def started(self) -> None:
        """Wait for those that start."""
        while self.starting:
            _, task = self.starting.popitem()
            await task

    def look_at_starts(self) -> None:
        """Raise what has kept a broker from starting."""
        for broker_id, task in list(self.starting.items()):
            if task.done():
                del self.starting[broker_id]
                task.result()

    def stop(self, broker_id: int) -> asyncio.Task[None]:
        """Have a broker stop in peace."""
        self.happened(f"broker {broker_id} stops")
        node = self.stopping[broker_id] = self.running.pop(broker_id)
        return asyncio.ensure_future(self._stop(broker_id, node))

    async def _stop(self, broker_id: int, node: BrokerNode) -> None:
        await node.stop()
        del self.stopping[broker_id]
        self.happened(f"broker {broker_id} has stopped")

    def kill(self, broker_id: int) -> None:
        """A broker's process ends; what it wrote is there, its session ends later."""
        self.happened(f"broker {broker_id} is killed")
        self._end(broker_id)

    def cut_power(self, broker_id: int) -> None:
        """A broker's machine goes off: what was not synced is there, or in part, or not.

        Only once it is in no ISR any more: what the last member of an ISR has not synced is lost with it, and
        nobody promises anything else. So until then everything is kept, and it cannot start.
        """
        cut = PowerCut(self.brokers.files[broker_id].operations)
        names = self.random.choice(cut.name_changes)
        fates = {file: self.random.choice(list(Fate)) for file in cut.unsynced}
        self.happened(f"broker {broker_id} loses its power")
        self._end(broker_id)
        self.without_power[broker_id] = cut.leaves(names, fates)

    def lose_what_was_not_synced(self) -> None:
        """Give brokers without power that are in no ISR any more the disk that the power cut left."""
        if not self.without_power:
            return
        needed = {broker_id for state in self.store.states.values() for broker_id in state.isr}
        for broker_id in self.without_power.keys() - needed:
            self.happened(f"broker {broker_id} has lost what it had not synced")
            home = self.brokers.home_of(broker_id)
            shutil.rmtree(home)
            home.mkdir()
            self.without_power.pop(broker_id).write_to(home)

    # -- disks -------------------------------------------------------------------------------------------

    def fill_disk(self, broker_id: int, name: str, room: int) -> None:
        """A disk has room for so many more bytes."""
        self.happened(f"{name} of broker {broker_id} has room for {room} bytes")
        self.disks[broker_id].fill(name, room)

    def fail_disk(self, broker_id: int, name: str) -> None:
        """A disk answers no more."""
        self.happened(f"{name} of broker {broker_id} fails")
        self.disks[broker_id].fail(name)

    def mend_disks(self, broker_id: int) -> None:
        """There is room, and failed disks answer again; a broker that has met them has to start again."""
        self.happened(f"the disks of broker {broker_id} are mended")
        self.disks[broker_id].mend()

    @contextmanager
    def disks_without_trouble(self) -> Iterator[None]:
        """For somebody who looks at what is on them."""
        for trouble in self.disks.values():
            trouble.is_off = True
        yield
        for trouble in self.disks.values():
            trouble.is_off = False

    def has_lost_disk(self, broker_id: int) -> bool:
        """Whether a broker that runs has a log directory out of service."""
        node = self.running[broker_id]
        return any(directory.offline for directory in node.parts.storage.logs.directories)

    def _end(self, broker_id: int) -> None:
        self.running.pop(broker_id).kill()
        self.network.kill(address_of(broker_id)[0])
        self._sessions[broker_id].cut(SESSION_TIMEOUT_MS)

    # -- the network and the store -----------------------------------------------------------------------

    def isolate(self, broker_id: int) -> None:
        """Cut a broker off from the others and from the store."""
        self.happened(f"broker {broker_id} is isolated")
        host = address_of(broker_id)[0]
        self.network.isolate(host, [address_of(each)[0] for each in self.broker_ids if each != broker_id])
        self._sessions[broker_id].cut(SESSION_TIMEOUT_MS)

    def cut_from_store(self, broker_id: int) -> None:
        """Nothing gets through between a broker and the store, until it is mended or healed."""
        self.happened(f"broker {broker_id} is cut off from the store")
        self._sessions[broker_id].cut(SESSION_TIMEOUT_MS)

    def mend_store(self, broker_id: int) -> None:
        """The store is there again for a broker that runs; perhaps it hears that its session has ended."""
        self.happened(f"broker {broker_id} reaches the store")
        self._sessions[broker_id].mend()

    def cut(self, source: int, target: int) -> None:
        """Nothing arrives one way."""
        self.happened(f"nothing gets from broker {source} to broker {target}")
        self.network.link(address_of(source)[0], address_of(target)[0]).cut()

    def slow(self, source: int, target: int, longest_delay_s: float) -> None:
        """Delay the bytes that one broker sends another."""
        self.happened(f"from broker {source} to broker {target} takes up to {longest_delay_s:.3f} s")
        self.network.link(address_of(source)[0], address_of(target)[0]).slow(longest_delay_s)

    def heal(self) -> None:
        """All links and the store are there for all that run."""
        self.happened("the network is healed")
        self.network.heal()
        for source in self.broker_ids:
            for target in self.broker_ids:
                self.network.link(address_of(source)[0], address_of(target)[0]).slow(0.005)
        for broker_id in [*self.running, *self.stopping]:
            self._sessions[broker_id].mend()

    # -- what clients need -------------------------------------------------------------------------------

    @property
    def addresses(self) -> list[Address]:
        """Where brokers are, when they run."""
        return [address_of(broker_id) for broker_id in self.broker_ids]

    async def client(self, name: str, broker_id: int) -> VirtualClient:
        """A connection of a client with this name. Raises ConnectionRefusedError."""
        return await self.network.client(name, address_of(broker_id))

    async def close(self) -> None:
        """Stop all that runs."""
        while self.running:
            _, node = self.running.popitem()
            await node.stop(hand_over=False)
        await self.store.close()


class _SlowJournal:
    """A store in memory whose transactions take a while."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def load(self) -> Tree:
        return Tree()

    async def write(self, zxid: int, staged: Staged) -> None:
        await asyncio.sleep(self._random.uniform(0, SLOWEST_TRANSACTION_S))

    def close(self) -> None:
        return
