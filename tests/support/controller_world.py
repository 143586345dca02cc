"""A controller with a store, and brokers that do as they are told."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Self, TypeVar

from kcompat.cluster import znodes
from kcompat.cluster.config_watch import ConfigWatch
from kcompat.cluster.entity_configs import EntityConfigs
from kcompat.cluster.feed import MetadataCache
from kcompat.cluster.news import LeaderAndIsr, Reply, StopReplica, UpdateConfigs, UpdateMetadata
from kcompat.cluster.registration import Forgetful, Registration
from kcompat.cluster.znodes import BrokerRegistration
from kcompat.config.broker import BrokerConfig
from kcompat.config.feed import ConfigFeed
from kcompat.controller import loading
from kcompat.controller.candidacy import Candidacy
from kcompat.controller.controller import Controller
from kcompat.controller.decisions import Decisions
from kcompat.controller.producer_ids import ProducerIds
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import StoreUnavailableError
from kcompat.store.process_store import ProcessStore
from kcompat.store.sqlite_journal import SqliteJournal
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kcompat.cluster.image import ClusterImage
    from kcompat.cluster.news import Answered, AssignedPartition, News
    from kcompat.controller.state import ControllerState
    from kcompat.promise import Promise
    from kcompat.store.interface import MetadataStore
    from kcompat.store.tree import Staged

T = TypeVar("T")


def registration_of(broker_id: int) -> BrokerRegistration:
    """What a broker tells the cluster of itself."""
    return BrokerRegistration({"PLAINTEXT": (f"h{broker_id}", 9092)}, {"PLAINTEXT": "PLAINTEXT"})


async def answer(promise: Promise[T]) -> T:
    """What a promise comes to, or its exception raised."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    promise.then(future.set_result, future.set_exception)
    return await asyncio.wait_for(future, 10)


async def register(session: MetadataStore, broker_id: int) -> int:
    """Register a broker for as long as this session lives, and no longer; its broker epoch."""
    path, data = znodes.broker_path(broker_id), znodes.encode_broker(registration_of(broker_id), 0)
    await session.create(path, data, ephemeral=True)
    _, stat = await session.get(path)
    return stat.czxid


class FakeBroker:
    """Takes every role, but for partitions in `broken`. It answers at once, or when the test says so."""

    def __init__(self) -> None:
        self.cluster = MetadataCache("the-cluster")
        self.roles: dict[tuple[str, int], AssignedPartition] = {}
        self.closed = 0
        self.deleted: list[tuple[str, int]] = []
        self.broken: set[tuple[str, int]] = set()
        self.bugs: dict[type, Exception] = {}
        self.held: list[Callable[[], object]] | None = None

    @property
    def image(self) -> ClusterImage:
        return self.cluster.image

    def give(self, news: News, answered: Answered) -> None:
        if type(news) in self.bugs:
            raise self.bugs[type(news)]
        if self.held is None:
            answered(self._reply(news))
        else:
            self.held.append(lambda: answered(self._reply(news)))

    def close(self) -> None:
        self.closed += 1

    def _reply(self, news: News) -> Reply:
        match news:
            case LeaderAndIsr():
                for part in news.partitions:
                    self.roles[part.topic, part.index] = part
                return self._errors(
                    [(part.topic, part.index) for part in news.partitions if part.role.leader >= 0]
                )
            case StopReplica():
                stopped = [(part.topic, part.index) for part in news.partitions if part.delete]
                self.deleted += [partition for partition in stopped if partition not in self.broken]
                return self._errors(stopped)
            case UpdateMetadata() | UpdateConfigs():
                self.cluster.hear(news)
                return Reply()

    def _errors(self, partitions: Sequence[tuple[str, int]]) -> Reply:
        return Reply(
            partitions={each: ErrorCode.KAFKA_STORAGE_ERROR for each in partitions if each in self.broken}
        )

    def release(self) -> None:
        """Do and answer what was held, and from now on at once."""
        held, self.held = self.held, None
        for act in held or ():
            act()


class SmallDisk(SqliteJournal):
    """A journal on a disk that can be full."""

    full = False

    async def write(self, zxid: int, staged: Staged) -> None:
        if self.full:
            raise StoreUnavailableError("the disk is full")
        await super().write(zxid, staged)


class ControllerWorld:
    """One broker's controller over a store that can be closed and opened again."""

    def __init__(self, path: Path, config: dict[str, str] | None = None, *others: int) -> None:
        """`others` are ids of brokers that are live when the controller starts, and reachable."""
        self.path = path
        self.others = {broker_id: FakeBroker() for broker_id in others}
        self.config = ConfigFeed(BrokerConfig(config or {}))
        self.clock = VirtualClock()
        self.broker = FakeBroker()

    async def __aenter__(self) -> Self:
        self.disk = SmallDisk(self.path)
        self.store = ProcessStore(self.disk, self.clock.now_ms)
        self.session = await self.store.session()
        await loading.prepare(self.session)
        assert await loading.cluster_id(self.session, "the-cluster", claims=True) == "the-cluster"
        self.sessions = {broker_id: await self.store.session() for broker_id in self.others}
        for broker_id, session in self.sessions.items():
            await register(session, broker_id)
        brokers = {1: self.broker, **self.others}
        self.controller = Controller(
            1,
            self.session,
            lambda broker: brokers.setdefault(broker.info.id, FakeBroker()),
            self.clock,
            self.config,
            self.broker.cluster,
        )
        self.candidacy = Candidacy(1, self.session, self.controller, self.clock)
        self.decisions = Decisions(self.candidacy.submit, 1, self.config, Random(1))
        self.producer_ids = ProducerIds(self.decisions.allocate_producer_ids)
        self.configs = EntityConfigs(self.session, self.broker.cluster)
        self.config_watch = ConfigWatch(self.session, self.configs, self.clock.now_ms)
        await self.config_watch.start()
        await Registration(self.session, 1, Forgetful(), self.clock).start(registration_of(1))
        await self.candidacy.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.broker.image.check_invariants()
        self.store.tree.check_invariants()
        await self.candidacy.stop()
        await self.config_watch.stop()
        await self.store.close()

    async def in_office(self) -> None:
        """Until this broker is the controller."""
        await self.until(lambda: self.candidacy.is_here)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Until something is so."""
        async with asyncio.timeout(10):
            while not is_so():
                await self.others_run()

    async def others_run(self) -> None:
        """Until every task that can has made a step."""
        await asyncio.sleep(0)

    async def loaded(self) -> ControllerState:
        """What a controller that starts now would find."""
        epoch, _ = await self.session.get("/controller_epoch")
        return await loading.load(self.session, 1, int(epoch), 0)

    def paths(self, under: str) -> list[str]:
        return sorted(path for path in self.store.tree.nodes if path.startswith(under))
