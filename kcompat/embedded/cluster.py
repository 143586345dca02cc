"""`kcompat.Cluster`: several brokers in this process that replicate to each other, and can be stopped, killed
or isolated.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat.embedded.addresses import Addresses
from kcompat.embedded.cluster_faults import ClusterFaults
from kcompat.embedded.contents import Contents
from kcompat.embedded.disturbed import Disturbed, disturbable
from kcompat.embedded.requests import RecordsRequests
from kcompat.embedded.running import START_TIMEOUT_S, STOP_TIMEOUT_S, Embedded, starting
from kcompat.embedded.settings import (
    check_flag,
    check_port,
    check_timeout,
    read_development,
    read_settings,
)
from kcompat.embedded.snapshots import NotRewindable
from kcompat.embedded.timing import Timing
from kcompat.embedded.tracebacks import short_tracebacks
from kcompat.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from kcompat.config.broker import BrokerConfig
    from kcompat.embedded.addresses import Listener
    from kcompat.embedded.first_topics import Topics
    from kcompat.embedded.settings import Settings
    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.brokers import Brokers
    from kcompat.instrumentation.control.port import ControlPort
    from kcompat.node.broker import BrokerNode
    from kcompat.node.cluster import ClusterNodes
    from kcompat.security.acls import Acl

IN_SYNC_TIMEOUT_S = 30.0


@short_tracebacks
class ClusterBroker(Addresses, Disturbed):
    """One broker of a `Cluster`. Its port and its data stay the same across stops and restarts."""

    def __init__(self, cluster: Cluster, broker_id: int) -> None:
        self._cluster = cluster
        self.id = broker_id

    @property
    def is_running(self) -> bool:
        """Whether the broker was started and neither stopped nor killed since."""
        return self.id in self._cluster.nodes.running

    @property
    def data_dir(self) -> Path:
        """The broker's first directory of data, below that of the cluster. Raises UsageError if there is none
        until a start.
        """
        from kcompat.node.layout import member_directory

        return Path(member_directory(str(self._cluster.data_dir), self.id))

    def start(self) -> None:
        """Start the broker again, and wait until it serves clients: 60 seconds at most. Raises StartError."""
        thread, nodes = self._cluster.thread, self._cluster.nodes
        with starting(f"broker {self.id}", START_TIMEOUT_S):
            thread.call(nodes.start(self.id), START_TIMEOUT_S)

    def stop(self) -> None:
        """Shut the broker down cleanly: its leaderships move first. Raises TimeoutError after 30 seconds."""
        thread, nodes = self._cluster.thread, self._cluster.nodes
        try:
            thread.call(nodes.stop(self.id), STOP_TIMEOUT_S)
        except TimeoutError as error:
            raise TimeoutError(f"broker {self.id} did not stop within {STOP_TIMEOUT_S:.0f} s") from error

    def kill(self) -> None:
        """End the broker as kill -9 does. Raises UsageError if it is not running."""
        self._running()
        self._cluster.thread.do(lambda: self._cluster.nodes.kill(self.id))

    @property
    def _cluster_nodes(self) -> ClusterNodes:
        return self._cluster.nodes

    def _running(self) -> tuple[LoopThread, BrokerNode]:
        node = self._cluster.nodes.running.get(self.id)
        if node is None:
            raise UsageError(f"broker {self.id} is not running: start it first")
        return self._cluster.thread, node

    def __repr__(self) -> str:
        try:
            return f"<{type(self).__name__} {self.id} at {self.bootstrap_servers}>"
        except UsageError:
            return f"<{type(self).__name__} {self.id}, not running>"


@short_tracebacks
class Cluster(Embedded["ClusterNodes"], Contents, ClusterFaults, RecordsRequests, NotRewindable):
    """Brokers 0, 1, 2, ... in one thread, started by `with` or `start()`.

    `data_dir`, `host`, `config`, `topics`, `tls`, `users`, `acls`, `record_requests`, `clock` and
    `control_port` are as for `Broker`; each broker has a directory of its own below `data_dir`, or below each
    of `log.dirs`. From `port` on the brokers listen on ports in a row; 0 means free ones. `racks` are the
    racks of the brokers in turn.

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
        config: Settings | None = None,
        topics: Topics | None = None,
        racks: Sequence[str] | None = None,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        acls: Sequence[Sequence[Acl]] | None = None,
        record_requests: bool = False,
        clock: str = "real",
        control_port: int | None = None,
    ) -> None:
        if isinstance(brokers, bool) or not isinstance(brokers, int) or brokers < 1:
            raise UsageError(f"brokers={brokers!r} is not a number of brokers: use 1 or more")
        if racks is not None and not _are_names(racks):
            raise UsageError(f"racks={racks!r} is not a list of racks: name at least one, as in ['a', 'b']")
        check_flag("record_requests", record_requests)
        check_port(port, brokers)
        if brokers > 1 and acls is not None and users is None and not tls:
            raise UsageError("acls need users or tls=True: without, brokers and clients are all anonymous")
        super().__init__(
            "the cluster",
            read_settings(data_dir, host, port, config),
            read_development(tls, users, acls, has_peers=brokers > 1),
            topics,
            brokers,
        )
        self._records_requests = record_requests or control_port is not None
        self._choose_control_port(control_port)
        self._timing = Timing(clock)
        self._racks = racks
        self.brokers = [ClusterBroker(self, broker_id) for broker_id in range(brokers)]

    async def _begin(self, config: BrokerConfig) -> ClusterNodes:
        # Late: a program may never start this cluster.
        from kcompat.net.sockets import HeldPort
        from kcompat.node.cluster import ClusterNodes
        from kcompat.node.spread import spread

        environment = self._development.prepared(self._stored(self._timing.environment()))
        environment = disturbable(self._instrumented(environment))
        with ExitStack() as undo:
            ports = None
            if config.listeners[0].port == 0:  # a broker that starts again has to be where clients know it
                held = [HeldPort(config.listeners[0].host) for _ in self.brokers]
                ports = [each.port for each in held]
                for each in held:
                    undo.callback(each.release)
            configs = spread(config, len(self.brokers), self._racks, ports)
            nodes = ClusterNodes(configs, environment.open_store(config, environment.clock), environment)
            try:
                await nodes.start()  # returns when each broker knows the others
                await nodes.make_topics(self._topics)
            except BaseException:
                await nodes.close()
                raise
            self._held = undo.pop_all()
        return nodes

    def _serve_control(self, port: ControlPort, nodes: ClusterNodes) -> None:
        assert self._recorder is not None
        port.start(nodes, self._recorder, self._timing.manual_time)

    async def _end(self, nodes: ClusterNodes) -> None:
        await nodes.close()
        self._held.close()

    def _running_nodes(self) -> list[BrokerNode]:
        return list(self.nodes.running.values())

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of each running broker, as clients take them for `bootstrap.servers`. Raises
        UsageError if no broker is running.
        """
        return ",".join(next(iter(each.values())).bootstrap_servers for each in self._listeners())

    def _listeners(self) -> list[Mapping[str, Listener]]:
        self._insist_on_running()
        return [each.listeners for each in self.brokers if each.is_running]

    def _insist_on_running(self) -> None:
        if not self.nodes.running:
            raise UsageError("no broker of the cluster is running: start one first")

    def isolate(self, broker_id: int) -> None:
        """Cut a broker off from the others and from the metadata store; clients still reach it.

        Raises:
            UsageError: the cluster has no broker of this id.
        """
        if broker_id not in self.nodes.broker_ids:
            raise UsageError(
                f"there is no broker {broker_id!r}: the cluster has 0 to {len(self.brokers) - 1}"
            )
        from kcompat.instrumentation.faults.leaders import isolate_broker

        self.thread.do(lambda: isolate_broker(self.nodes, broker_id))

    def heal(self) -> None:
        """Reconnect all isolated brokers."""
        from kcompat.instrumentation.faults.leaders import heal_brokers

        self.thread.do(lambda: heal_brokers(self.nodes))

    def leader_of(self, topic: str, partition: int) -> int:
        """Return the id of the leader of a partition, as the controller knows it; -1 if there is none."""
        return self.thread.do(lambda: self.nodes.leader_of(topic, partition))

    def wait_until_in_sync(self, timeout_s: float = IN_SYNC_TIMEOUT_S) -> None:
        """Wait until every partition has a leader and all its replicas on running brokers are in sync.

        Raises:
            UsageError: no broker is running.
            TimeoutError: that takes longer than `timeout_s`; the message names the partitions.
        """
        check_timeout(timeout_s)
        self._insist_on_running()
        try:
            self.thread.call(self.nodes.until_in_sync(), timeout_s)
        except TimeoutError as error:
            behind = self.thread.do(self.nodes.out_of_sync)
            raise TimeoutError(f"not in sync within {timeout_s:g} s: {', '.join(behind)}") from error

    def _brokers(self) -> tuple[LoopThread, Brokers]:
        from kcompat.instrumentation.brokers import Brokers

        thread, nodes = self._running()
        return thread, Brokers(nodes.by_trust)

    @property
    def nodes(self) -> ClusterNodes:
        """The brokers as objects of this process; call them on the loop of `thread` only."""
        return self._running()[1]

    @property
    def thread(self) -> LoopThread:
        """The thread in which the brokers run."""
        return self._running()[0]


def _are_names(racks: object) -> bool:
    return isinstance(racks, list | tuple) and bool(racks) and all(isinstance(each, str) for each in racks)
