"""A real Kafka 3.9.2 in ZooKeeper mode, and its ZooKeeper."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Protocol

from kcompat.protocol.messages.metadata import MetadataRequest
from real_kafka import RealKafka
from support.broker_process import NO_LISTENERS, BrokerProcess
from support.kafka_jars import class_path, java, short_lived
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class ZooKeeper(BrokerProcess):
    """One ZooKeeper server on a free port."""

    name = "zookeeper"

    def __init__(
        self, data_dir: Path | None = None, port: int | None = None, host: str = "127.0.0.1"
    ) -> None:
        super().__init__(data_dir, port)
        self.host = host

    def prepare(self) -> None:
        """Write its zoo.cfg."""
        settings = {
            "dataDir": str(self.home / "data"),
            "clientPort": str(self.port),
            "clientPortAddress": self.host,
            "maxClientCnxns": "0",
            "tickTime": "500",  # sessions end within one of these; 3 s as installed
            "maxSessionTimeout": "60000",
            "admin.enableServer": "false",
        }
        lines = [f"{key}={value}\n" for key, value in settings.items()]
        (self.home / "zoo.cfg").write_text("".join(lines))

    def command(self) -> list[str]:
        """The command line that runs the server in the foreground."""
        main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        return [
            java(),
            "-Xmx128m",
            *short_lived("3.9.2"),
            "-cp",
            class_path("3.9.2"),
            main_class,
            str(self.home / "zoo.cfg"),
        ]

    def is_ready(self) -> bool:
        """Whether the server answers the four-letter word `srvr`."""
        with (
            contextlib.suppress(OSError),
            socket.create_connection((self.host, self.port), 2) as connection,
        ):
            connection.sendall(b"srvr")
            return connection.recv(9) == b"Zookeeper"
        return False


class Ensemble(Protocol):
    """Where a `ZooKeeperKafka` keeps its metadata."""

    @property
    def bootstrap(self) -> str:
        """As in its zookeeper.connect."""


class ZooKeeperKafka(RealKafka):
    """A Kafka broker of id 1 that keeps its metadata in `zookeeper` below `chroot`, its logs in
    `data_dir`/data.
    """

    def __init__(
        self,
        zookeeper: Ensemble,
        data_dir: Path | None = None,
        properties: Mapping[str, str] | None = None,
        chroot: str = "",
        heap: str = "512m",
        options: Sequence[str] | None = None,
        listeners: Mapping[str, str] = NO_LISTENERS,
    ) -> None:
        super().__init__(
            properties=properties, heap=heap, data_dir=data_dir, options=options, listeners=listeners
        )
        self._connect = f"{zookeeper.bootstrap}{chroot}"

    def prepare(self) -> None:
        """Write server.properties; there is nothing to format."""
        lines = [f"{key}={value}\n" for key, value in self._settings().items()]
        self._properties_path.write_text("".join(lines))

    def is_ready(self) -> bool:
        """Whether the broker answers and knows a controller, without which no topic can be created."""
        if not super().is_ready():
            return False
        with RawClient(("127.0.0.1", self.port)) as client:
            return int(client.call(MetadataRequest(topics=[]), 4).controller_id) >= 0

    def _settings(self) -> dict[str, str]:
        listeners = {"PLAINTEXT": ("PLAINTEXT", self.port)} | self.listeners
        return {
            "broker.id": "1",
            "zookeeper.connect": self._connect,
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, (_, port) in listeners.items()),
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, (protocol, _) in listeners.items()
            ),
            "log.dirs": str(self._logs),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self._extra,
        }
