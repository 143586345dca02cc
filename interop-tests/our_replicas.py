"""A broker of ours with replicas, beside a real Kafka that is the controller.

It has what replication needs, and no more. It runs on the running loop, with its logs in a directory of the
test.
"""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import TYPE_CHECKING, Any

from kcompat.api.dispatcher import Dispatcher
from kcompat.api.registry import SERVED
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.znodes import BrokerRegistration, broker_path, encode_broker
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.config.topic import topic_config
from kcompat.log.files import FILES
from kcompat.log.manager import LogManager
from kcompat.net.helpers import Helpers
from kcompat.net.loop_clock import LoopClock
from kcompat.net.outbound_socket import SocketConnector
from kcompat.net.plain_listener import bind
from kcompat.net.server import Server
from kcompat.peer.peers import Peers
from kcompat.peer.remote_controller import RemoteController
from kcompat.promise import Promise
from kcompat.replication.following.fetcher_manager import FetcherManager, fetcher_manager_config
from kcompat.replication.leading.isr_proposals import IsrProposals
from kcompat.replication.local_broker import LocalBroker
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.replication.storage_config import log_config
from kcompat.replication.waiting.fetch_session import FetchSessions
from kcompat.worker import ThreadWorker
from support.asking import services_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from kazoo.client import KazooClient

    from kcompat.replication.partition import Partition

LISTENER = "PLAINTEXT"


class _NothingToHear:
    """The configs of topics, none of which has any."""

    def ensure(self, _topics: object) -> Promise[None]:
        """There is nothing to be read first."""
        return Promise.resolved(None)


class OurReplicas:
    """One broker of ours."""

    def __init__(self, broker_id: int, home: Path, zookeeper: KazooClient, **settings: str) -> None:
        """`settings` are keys of the broker with "_" for "."."""
        loop = asyncio.get_running_loop()
        self._id, self._zookeeper, self._loop = broker_id, zookeeper, loop
        self._epoch = -1
        texts = {name.replace("_", "."): text for name, text in settings.items()}
        config = ConfigFeed(BrokerConfig({"broker.id": str(broker_id), "log.dirs": str(home), **texts}))
        clock, chance, image = LoopClock(loop), random.Random(broker_id), MetadataCache("")
        self._logs = LogManager([str(home)], clock, FILES, ThreadWorker, chance)
        self._logs.open(broker_id, "", log_config(topic_config(config.current, {})))
        self.replicas = ReplicaManager(broker_id, clock, image)
        local = LocalBroker(config, image, self._logs, self.replicas)
        self._peers = Peers(broker_id, config, image, (SocketConnector(loop), clock, chance))
        controller = RemoteController(broker_id, self._broker_epoch, self._peers, image, config, clock)
        self._proposals = IsrProposals(broker_id, self._broker_epoch, controller, clock)
        self.fetching = FetcherManager(
            broker_id, self._broker_epoch, self._peers.fetcher, clock, fetcher_manager_config(config.current)
        )
        self.replicas.add_fetcher(self.fetching)
        self.replicas.propose_to(self._proposals.submit)
        services = services_of(
            broker_id=broker_id,
            config=config.current,
            served=SERVED,
            metadata=image,
            configs=_NothingToHear(),
            replicas=self.replicas,
            logs=self._logs,
            fetch_sessions=FetchSessions(1000, chance),
            clock=clock,
            helpers=Helpers(clock, ThreadWorker),
            local=local,
            broker_epoch=self._broker_epoch,
        )
        listener = bind(LISTENER, "127.0.0.1", 0)
        self.address = ("127.0.0.1", listener.port)
        self._server = Server([listener], Dispatcher(services))
        self._server.start()

    def _broker_epoch(self) -> int:
        return self._epoch

    async def register(self) -> None:
        """Become a broker of the cluster."""
        payload = encode_broker(BrokerRegistration({LISTENER: self.address}, {LISTENER: LISTENER}), 0)
        create = partial(
            self._zookeeper.create, broker_path(self._id), payload, ephemeral=True, include_data=True
        )
        _, stat = await self._loop.run_in_executor(None, create)
        self._epoch = stat.czxid

    async def unregister(self) -> None:
        """Be taken for dead, and go on."""
        await self._loop.run_in_executor(None, self._zookeeper.delete, broker_path(self._id))

    def partition(self, topic: str, index: int) -> Partition | None:
        """A replica, if the controller has told of it."""
        return self.replicas.get(topic, index)

    async def stop(self) -> None:
        """Close all connections and stop all parts."""
        self.fetching.close()
        self._proposals.close()
        self._peers.close()
        await self._server.stop(grace_s=0.1)
        self._logs.close()


async def until(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Repeat a question until its answer is true, and return the answer."""
    for _ in range(2000):
        answer = await ask()
        if answer:
            return answer
        await asyncio.sleep(0.01)
    raise TimeoutError
