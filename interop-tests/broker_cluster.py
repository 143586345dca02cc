"""Several brokers in processes of their own over a real ZooKeeper: kcompat, real Kafka 3.9.2, or both."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self

from kazoo.client import KazooClient

from kcompat.cluster.znodes import CONTROLLER, broker_path, decode_controller
from kcompat.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.elect_leaders import ElectLeadersRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from support.broker_process import NO_LISTENERS
from support.eventually import Patience
from support.kcompat_broker import KcompatBroker
from support.ports import free_port
from support.raw_client import RawClient
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    from hosts import Host, Hosts
    from support.broker_process import BrokerProcess
    from zookeeper_ensemble import ZooKeeperEnsemble

HURRIED = {"zookeeper.session.timeout.ms": "6000"}
SETTINGS = {
    **HURRIED,
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
}
UNHURRIED = {"zookeeper.session.timeout.ms": "18000"}
"""Kafka's own default, for every cluster with a Kafka in it: with less, a Kafka that starts while other JVMs
do may lose its own, and then ends.
"""
FAILOVER_S = 90
"""A session, and what a loaded machine takes."""
POLL_S = 0.05
PORT = 9092


class BrokerOnHost(KcompatBroker):
    """Our broker on a host of its own."""

    def __init__(
        self, on: Host, properties: Mapping[str, str], listeners: Mapping[str, str] = NO_LISTENERS
    ) -> None:
        protocols = {"PLAINTEXT": "PLAINTEXT", **listeners}
        listening = {
            "listeners": ",".join(
                f"{name}://{on.address}:{port}" for port, name in enumerate(protocols, PORT)
            ),
            "listener.security.protocol.map": ",".join(map(":".join, protocols.items())),
        }
        super().__init__({**properties, **listening}, port=PORT, listeners=listeners)
        self.on = on
        self.host = on.address

    def command(self) -> list[str]:
        """The usual command, on that host."""
        return self.on.command(super().command())


class ZooKeeperOnHost(ZooKeeper):
    """A ZooKeeper on a host of its own."""

    def __init__(self, on: Host) -> None:
        super().__init__(host=on.address)
        self.on = on

    def command(self) -> list[str]:
        """The usual command, on that host."""
        return self.on.command(super().command())


class BrokerCluster:
    """Brokers 1, 2, 3, ... of these kinds, "kcompat" or "kafka", and their ZooKeeper; `with` runs them."""

    def __init__(
        self,
        kinds: Sequence[str] = ("kcompat",) * 3,
        settings: Mapping[str, str] = {},
        hosts: Hosts | None = None,
        racks: Sequence[str] = (),
        ensemble: ZooKeeperEnsemble | ZooKeeper | None = None,
        listeners: Mapping[str, str] = NO_LISTENERS,
    ) -> None:
        """Sessions are `UNHURRIED` with a Kafka among them, unless `settings` say else. With `hosts` each
        broker, of ours alone, is on a host of its own, and ZooKeeper on the last one. `racks` are those of
        the brokers, one each. They are over the `ensemble` if there is one. `listeners` are the security
        protocols of further listeners, by name; clients of this class come by PLAINTEXT.
        """
        self._listeners = listeners
        self._zookeepers: ZooKeeper | ZooKeeperEnsemble
        if ensemble is not None:
            self._zookeepers = ensemble
        else:
            self._zookeepers = ZooKeeper() if hosts is None else ZooKeeperOnHost(hosts.hosts[-1])
        self.brokers: dict[int, BrokerProcess] = {}
        usual = {**SETTINGS, **UNHURRIED} if "kafka" in kinds else SETTINGS
        for broker_id, kind in enumerate(kinds, 1):
            own = {**usual, **settings, "broker.id": str(broker_id)}
            if racks:
                own["broker.rack"] = racks[broker_id - 1]
            if hosts is None:
                self.brokers[broker_id] = self.broker_of(kind, own)
            else:
                own["zookeeper.connect"] = self._zookeepers.bootstrap
                self.brokers[broker_id] = BrokerOnHost(hosts.hosts[broker_id - 1], own, listeners)

    def broker_of(self, kind: str, properties: Mapping[str, str]) -> BrokerProcess:
        """A broker of this kind with these properties, on this host and not started yet."""
        if kind == "kafka":
            return ZooKeeperKafka(
                self._zookeepers, properties=properties, heap="320m", listeners=self._listeners
            )
        return self.kcompat_of(KcompatBroker, properties)

    def kcompat_of(self, kind: type[KcompatBroker], properties: Mapping[str, str]) -> KcompatBroker:
        """A broker of ours at the loopback address, as the Kafkas are; it would tell the name of the host."""
        port = free_port()
        own = {"zookeeper.connect": self._zookeepers.bootstrap}
        if not self._listeners:
            own["listeners"] = f"PLAINTEXT://127.0.0.1:{port}"
        return kind({**properties, **own}, port=port, listeners=self._listeners)

    @property
    def zookeeper(self) -> ZooKeeper:
        """The one that they are over."""
        assert isinstance(self._zookeepers, ZooKeeper)
        return self._zookeepers

    @property
    def bootstrap(self) -> str:
        """Value for `bootstrap.servers`: the addresses of all brokers, running or not."""
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.enter_context(self._zookeepers)
            for broker in self.brokers.values():
                undo.callback(broker.close)
                broker.start()
            self.wait(lambda answer: len(answer.brokers) == len(self.brokers))
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def create_topic(
        self,
        name: str,
        partitions: int,
        replication_factor: int = 3,
        placed: Sequence[Sequence[int]] = (),
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic, on the replicas that `placed` names if it does, and wait until it is whole."""
        topic = CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=-1 if placed else partitions,
            replication_factor=-1 if placed else replication_factor,
            assignments=[
                CreateTopicsRequest.CreatableReplicaAssignment(index, list(replicas))
                for index, replicas in enumerate(placed)
            ],
            configs=[CreateTopicsRequest.CreatableTopicConfig(*each) for each in (configs or {}).items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
        with self._controller() as client:
            (row,) = client.call(request, 5).topics
        if row.error_code:
            raise RuntimeError(f"{name} was not created: error {row.error_code}, {row.error_message}")
        self.wait(lambda shown: any(row.name == name and row.partitions for row in shown.topics))
        self.wait_until_in_sync()

    def client(self, broker_id: int, timeout_s: float = 10) -> RawClient:
        """A raw connection to a broker."""
        return RawClient((self.brokers[broker_id].host, self.brokers[broker_id].port), timeout_s)

    def _controller(self) -> RawClient:
        """A raw connection to the controller, which may take 30 s for what it is asked."""
        return self.client(self.metadata().controller_id, timeout_s=40)

    def metadata(self, *, but: int = -1) -> Any:
        """Return the metadata of the first broker that answers, other than the broker `but`."""
        for broker_id, broker in self.brokers.items():
            if broker.is_running() and broker_id != but:
                try:
                    with self.client(broker_id) as client:
                        return client.call(MetadataRequest(topics=None), 9)
                except OSError:
                    continue
        raise RuntimeError("no broker of the cluster answers")

    def leader_of(self, topic: str, partition: int, *, but: int = -1) -> int:
        """Return the leader of a partition, -1 if it has none, from a broker other than `but`."""
        for row in self.metadata(but=but).topics:
            for part in row.partitions:
                if (row.name, part.partition_index) == (topic, partition):
                    return int(part.leader_id)
        return -1

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> float:
        """Move a partition to other replicas and wait until it is there; how many seconds that took."""
        kind = AlterPartitionReassignmentsRequest
        row = kind.ReassignableTopic(topic, [kind.ReassignablePartition(partition, list(replicas))])
        with self._controller() as client:
            answer = client.call(kind(topics=[row]), 0)
        errors = {answer.error_code, *(each.error_code for each in answer.responses[0].partitions)}
        if errors != {0}:
            raise RuntimeError(f"{topic}-{partition} was not moved: {answer}")
        return self.wait(lambda shown: settled_replicas(shown, topic, partition) == list(replicas))

    def elect_preferred(self) -> None:
        """Have every partition led by the first of its replicas, and wait until it is."""
        with self._controller() as client:
            answer = client.call(ElectLeadersRequest(topic_partitions=None, timeout_ms=30_000), 2)
        if answer.error_code:
            raise RuntimeError(f"no leader was elected: {answer}")
        self.wait(
            lambda shown: all(
                part.leader_id == part.replica_nodes[0] for row in shown.topics for part in row.partitions
            )
        )

    def contents(self, topic: str, partition: int) -> dict[int, bytes]:
        """Return the log of each broker that has the partition; the brokers must be stopped."""
        found = {}
        for broker_id, broker in self.brokers.items():
            segments = sorted((broker.home / "data" / f"{topic}-{partition}").glob("*.log"))
            if segments:
                found[broker_id] = b"".join(segment.read_bytes() for segment in segments)
        return found

    def wait_until_in_sync(self, timeout_s: float = 30) -> float:
        """Wait until every broker runs and every replica is in sync; how many seconds that took."""
        return self.wait(self._is_in_sync, timeout_s)

    def wait(self, condition: Any, timeout_s: float = 30) -> float:
        """Wait until `condition` holds of what every running broker says of the cluster; how long it took."""
        begin, patience = time.monotonic(), Patience(timeout_s)
        while True:
            answers = list(self.answers())
            if answers and all(map(condition, answers)):
                return time.monotonic() - begin
            if not patience.lasts:
                raise TimeoutError(f"brokers still say: {answers}")
            time.sleep(POLL_S)

    def answers(self) -> Iterator[Any]:
        """Return the metadata of each running broker, without those that do not answer."""
        for broker_id, broker in self.brokers.items():
            if broker.is_running():
                try:
                    with self.client(broker_id) as client:
                        yield client.call(MetadataRequest(topics=None), 9)
                except OSError:
                    return

    def _is_in_sync(self, answer: Any) -> bool:
        return len(answer.brokers) == len(self.brokers) and all(
            part.leader_id >= 0 and set(part.isr_nodes) == set(part.replica_nodes)
            for row in answer.topics
            for part in row.partitions
        )

    def stored(self, broker_id: int, topic: str, partition: int) -> bytes:
        """All that a broker has on its disk of a partition's log."""
        directory = self.brokers[broker_id].home / "data" / f"{topic}-{partition}"
        return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))

    def restart(self, broker_id: int, timeout_s: float = 120) -> None:
        """Start a broker that was killed; a Kafka refuses to start before the session of its former self has
        ended.
        """
        if isinstance(self.brokers[broker_id], ZooKeeperKafka):
            with self._store() as client:
                patience = Patience(timeout_s)
                while client.exists(broker_path(broker_id)) and patience.lasts:
                    time.sleep(POLL_S)
        self.brokers[broker_id].start(timeout_s)

    def depose_controller(self) -> None:
        """Have another controller elected, as operators do: whoever is the first to hear of it."""
        with self._store() as client:
            before = client.exists(CONTROLLER)
            client.delete(CONTROLLER)
            patience = Patience(30)
            while (after := client.exists(CONTROLLER)) is None or after.czxid == before.czxid:
                assert patience.lasts, "nobody is elected"
                time.sleep(POLL_S)
            controller = decode_controller(client.get(CONTROLLER)[0])
        self.wait(lambda shown: shown.controller_id == controller)

    @contextmanager
    def _store(self) -> Iterator[KazooClient]:
        client = KazooClient(self._zookeepers.bootstrap)
        client.start()
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def freeze(self, broker_id: int) -> None:
        """Stop a broker as a host that hangs: nothing is closed, nothing answered."""
        os.kill(self.brokers[broker_id].pid, signal.SIGSTOP)

    def thaw(self, broker_id: int) -> None:
        """Let it go on."""
        os.kill(self.brokers[broker_id].pid, signal.SIGCONT)


def settled_replicas(answer: Any, topic: str, partition: int) -> list[int]:
    """The replicas of a partition, as a Metadata response has them, once all are in sync."""
    for row in answer.topics:
        for part in row.partitions:
            if (row.name, part.partition_index) == (topic, partition):
                return list(part.replica_nodes) if set(part.isr_nodes) == set(part.replica_nodes) else []
    return []
