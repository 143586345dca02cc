"""`kcompat.Cluster`: several brokers inside this process that replicate to each other, and can be broken."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Self

from kcompat.config.broker import BrokerConfig, as_log_dirs
from kcompat.config.listeners import Endpoint
from kcompat.embedded.broker import START_TIMEOUT_S, STOP_TIMEOUT_S
from kcompat.embedded.home import as_texts, temporary_directory
from kcompat.embedded.thread import LoopThread
from kcompat.node.cluster import ClusterNodes, spread
from kcompat.node.world import real_world

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from types import TracebackType

IN_SYNC_TIMEOUT_S = 30.0


class ClusterBroker:
    """One broker of a `Cluster`. Its port and its data stay the same whatever becomes of it."""

    def __init__(self, cluster: Cluster, broker_id: int) -> None:
        self._cluster = cluster
        self.id = broker_id

    @property
    def is_running(self) -> bool:
        """Whether it was started and neither stopped nor killed."""
        return self.id in self._cluster.nodes.running

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of its first listener; it must be running."""
        return self._cluster.nodes.running[self.id].bootstrap_servers

    def start(self) -> None:
        """Start it again, and wait until it serves clients."""
        self._cluster.thread.call(self._cluster.nodes.start(self.id), START_TIMEOUT_S)

    def stop(self) -> None:
        """Shut it down cleanly: its leaderships move first."""
        self._cluster.thread.call(self._cluster.nodes.stop(self.id), STOP_TIMEOUT_S)

    def kill(self) -> None:
        """End it as kill -9 does."""
        self._cluster.thread.do(lambda: self._cluster.nodes.kill(self.id))


class Cluster:
    """Brokers 0, 1, 2, ... in one thread, started by `with` or `start()`.

    `data_dir`, `host` and `config` are as for `Broker`; each broker has a directory of its own below
    `data_dir`. From `port` on the brokers listen on ports in a row; 0 means free ones. `racks` are the racks
    of the brokers in turn.

        with Cluster(3) as cluster:
            producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all")
            cluster.brokers[cluster.leader_of("orders", 0)].kill()
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        data_dir: str | PathLike[str] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        config: Mapping[str, str | float | bool] | None = None,
        racks: Sequence[str] | None = None,
    ) -> None:
        values = {"listeners": str(Endpoint("PLAINTEXT", host, port, "PLAINTEXT")), **as_texts(config)}
        if data_dir is not None:
            values["log.dirs"] = as_log_dirs(data_dir)
        self._temporary = data_dir is None
        self._config = BrokerConfig(values)
        self._racks = racks
        self.brokers = [ClusterBroker(self, broker_id) for broker_id in range(brokers)]
        self._started: tuple[LoopThread, ClusterNodes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What clients take as `bootstrap.servers`: the brokers that run."""
        return self.nodes.bootstrap_servers

    def start(self, timeout_s: float = START_TIMEOUT_S) -> Self:
        """Start all brokers and wait until each knows the others. TimeoutError, and nothing left, if that
        takes too long.
        """
        assert self._started is None, "the cluster is started already"
        with ExitStack() as undo:
            config = self._config
            if self._temporary:
                directory, remove = temporary_directory(self)
                undo.callback(remove)
                config = config.with_static({"log.dirs": directory})
            configs = spread(config, len(self.brokers), self._racks)
            thread = LoopThread()
            undo.callback(thread.close)
            try:
                nodes = thread.call(_start(config, configs), timeout_s)
            except TimeoutError as error:
                raise TimeoutError(f"the cluster did not start within {timeout_s:.0f} s") from error
            undo.callback(_close, thread, nodes)
            self._undo = undo.pop_all()
        self._started = thread, nodes
        return self

    def stop(self) -> None:
        """Shut all brokers down cleanly; a temporary directory is removed. Harmless when not started."""
        if self._started is not None:
            self._started = None
            self._undo.close()

    def isolate(self, broker_id: int) -> None:
        """Cut a broker off from the others and from the metadata store; clients still reach it."""
        self.thread.do(lambda: self.nodes.isolate(broker_id))

    def heal(self) -> None:
        """Undo all that `isolate` did."""
        self.thread.do(self.nodes.heal)

    def leader_of(self, topic: str, partition: int) -> int:
        """The id of the broker that leads a partition, as the controller has it; -1 where none does."""
        return self.thread.do(lambda: self.nodes.leader_of(topic, partition))

    def wait_until_in_sync(self, timeout_s: float = IN_SYNC_TIMEOUT_S) -> None:
        """Wait until every partition has a leader and each of its replicas on a broker that runs is in sync.
        Raises TimeoutError.
        """

        async def wait() -> None:
            async with asyncio.timeout(timeout_s):
                await self.nodes.until_in_sync()

        try:
            self.thread.call(wait())
        except TimeoutError as error:
            behind = self.thread.do(self.nodes.out_of_sync)
            raise TimeoutError(f"not in sync within {timeout_s:.0f} s: {', '.join(behind)}") from error

    @property
    def nodes(self) -> ClusterNodes:
        """The brokers, on the loop of `thread`."""
        assert self._started is not None, "the cluster is not started"
        return self._started[1]

    @property
    def thread(self) -> LoopThread:
        """Where they run."""
        assert self._started is not None, "the cluster is not started"
        return self._started[0]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


async def _start(config: BrokerConfig, configs: Sequence[BrokerConfig]) -> ClusterNodes:
    world = real_world()
    nodes = ClusterNodes(configs, world.open_store(config, world.clock), world)
    try:
        await nodes.start()
    except BaseException:
        await nodes.close()
        raise
    return nodes


def _close(thread: LoopThread, nodes: ClusterNodes) -> None:
    with suppress(TimeoutError):  # brokers that hang end with their thread
        if thread.is_here:
            thread.call(nodes.close(), STOP_TIMEOUT_S)
