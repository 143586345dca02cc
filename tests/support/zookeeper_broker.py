"""Our broker in a process of its own, which serves its metadata to ZooKeeper's clients too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from support.kcompat_broker import KcompatBroker
from support.zookeeper_client import ZooKeeperClient

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SERVES = re.compile(r"ZooKeeper's clients are served at 127\.0\.0\.1:(\d+)\n")


class ZooKeeperBroker(KcompatBroker):
    """``kcompat start --zookeeper-port`` on ports it chooses itself, and starts on again."""

    def __init__(self, properties: Mapping[str, str] | None = None, data_dir: Path | None = None) -> None:
        super().__init__(properties, data_dir)
        self.zookeeper_port = 0

    @property
    def zookeeper(self) -> tuple[str, int]:
        """Where ZooKeeper's clients are served."""
        return "127.0.0.1", self.zookeeper_port

    def client(self) -> ZooKeeperClient:
        """A connection that has said nothing yet."""
        return ZooKeeperClient(self.zookeeper)

    def command(self) -> list[str]:
        """The command line that runs the broker in the foreground."""
        return [*super().command(), "--zookeeper-port", str(self.zookeeper_port)]

    def is_ready(self) -> bool:
        """Whether it has said where both are served."""
        if not super().is_ready():
            return False
        said = _SERVES.search(self.log_path.read_text())
        if said is None:
            return False
        self.zookeeper_port = int(said[1])
        return True
