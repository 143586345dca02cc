"""A plugin of pytest that gives kazoo's own tests our ZooKeeper port, where they would start an ensemble.

They run in a process of their own: ``pytest -p kazoo_cluster <kazoo>/tests``; see `test_kazoo_suite`.
"""

from __future__ import annotations

import atexit
import sys
import types

from support.zookeeper_broker import ZooKeeperBroker


class Server:
    """A member of an ensemble, with the methods that kazoo's tests call."""

    def __init__(self) -> None:
        self._broker = ZooKeeperBroker()
        self._broker.start()
        self.running = True
        atexit.register(self._broker.close)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._broker.zookeeper_port}"

    def stop(self) -> None:
        self._broker.stop()
        self.running = False

    def run(self) -> None:
        if not self.running:
            self._broker.start()
            self.running = True


class Cluster:
    """One server, which is there for the whole run."""

    def __init__(self) -> None:
        self._servers = [Server()]

    def __getitem__(self, index: int) -> Server:
        return self._servers[index]

    def __iter__(self) -> object:
        return iter(self._servers)

    def start(self) -> None:
        for server in self._servers:
            server.run()

    def terminate(self) -> None:
        """The next tests want it again."""

    def get_logs(self) -> list[str]:
        return []


_cluster: list[Cluster] = []


def the_cluster() -> Cluster:
    if not _cluster:
        _cluster.append(Cluster())
    return _cluster[0]


# What would start an ensemble asks for two packages that make certificates. Nothing of it is wanted here.
_ensembles = types.ModuleType("kazoo.testing.common")
_ensembles.ZookeeperCluster = Cluster  # type: ignore[attr-defined]
sys.modules[_ensembles.__name__] = _ensembles

from kazoo.testing import harness  # noqa: E402

harness.get_global_cluster = the_cluster
