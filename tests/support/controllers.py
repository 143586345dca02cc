"""A controller with a store, and brokers that do as they are told."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Self, TypeVar

from kcompat.cluster.config_watch import ConfigWatch
from kcompat.cluster.entity_configs import EntityConfigs
from kcompat.cluster.registration import Forgetful, Registration
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.controller import loading
from kcompat.controller.controller import Controller
from kcompat.controller.controller_election import ControllerElection
from kcompat.controller.decisions import Decisions
from kcompat.controller.producer_ids import ProducerIds
from kcompat.store.interface import StoreUnavailableError
from kcompat.store.process_store import ProcessStore
from kcompat.store.sqlite_journal import SqliteJournal
from support.controlled_brokers import FakeBroker, register, registration_of
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.cluster.control_requests import BrokerPort
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.cluster.znodes import BrokerRegistration
    from kcompat.controller.state import ControllerState, RegisteredBroker
    from kcompat.promise import Promise
    from kcompat.store.process_session import ProcessSession
    from kcompat.store.tree import Staged

T = TypeVar("T")


async def answer(promise: Promise[T]) -> T:
    """Wait for a promise, and return its value or raise its exception."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    promise.then(future.set_result, future.set_exception)
    return await asyncio.wait_for(future, 10)


class ControllingBroker:
    """Broker 1's controller, what submits requests to it, and what reads the configs in its store."""

    clock: VirtualClock

    async def stand(
        self,
        session: ProcessSession,
        port_of: Callable[[RegisteredBroker], BrokerPort],
        config: ConfigFeed,
        cluster: MetadataCache,
        registration: BrokerRegistration,
    ) -> None:
        """Register the broker in the store of this session, and let it stand for election."""
        self.session = session
        self.controller = Controller(1, session, port_of, self.clock, config, cluster)
        self.controller_election = ControllerElection(1, session, self.controller, self.clock)
        self.decisions = Decisions(self.controller_election.submit, 1, config, Random(1))
        self.producer_ids = ProducerIds(self.decisions.allocate_producer_ids)
        self.configs = EntityConfigs(session, cluster)
        self.config_watch = ConfigWatch(session, self.configs, self.clock.now_ms)
        await self.config_watch.start()
        await Registration(session, 1, Forgetful(), self.clock).start(registration)
        await self.controller_election.start()

    async def withdraw(self) -> None:
        """Stop the controller and the reading of configs."""
        await self.controller_election.stop()
        await self.config_watch.stop()


class SmallDisk(SqliteJournal):
    """A journal on a disk that can be full."""

    full = False

    async def write(self, zxid: int, staged: Staged) -> None:
        if self.full:
            raise StoreUnavailableError("the disk is full")
        await super().write(zxid, staged)


class ControllerFixture(ControllingBroker):
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
        session = await self.store.session()
        await loading.prepare(session)
        assert await loading.cluster_id(session, "the-cluster", claims=True) == "the-cluster"
        self.sessions = {broker_id: await self.store.session() for broker_id in self.others}
        for broker_id, its_session in self.sessions.items():
            await register(its_session, broker_id)
        brokers = {1: self.broker, **self.others}
        await self.stand(
            session,
            lambda broker: brokers.setdefault(broker.info.id, FakeBroker()),
            self.config,
            self.broker.cluster,
            registration_of(1),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self.broker.image.check_invariants()
        self.store.tree.check_invariants()
        await self.withdraw()
        await self.store.close()

    async def in_office(self) -> None:
        """Until this broker is the controller."""
        await self.until(lambda: self.controller_election.is_here)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Until something is so."""
        async with asyncio.timeout(10):
            while not is_so():
                await self.others_run()

    async def others_run(self) -> None:
        """Until every task that can has made a step."""
        await asyncio.sleep(0)

    async def loaded(self) -> ControllerState:
        """Return the state that a new controller would load."""
        epoch, _ = await self.session.get("/controller_epoch")
        return await loading.load(self.session, 1, int(epoch), 0)

    def paths(self, under: str) -> list[str]:
        return sorted(path for path in self.store.tree.nodes if path.startswith(under))
