"""What `kcompat start` prints when it serves clients: for people, and for programs that wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.config.broker import BrokerConfig


def announce(addresses: str, config: BrokerConfig, zookeeper: tuple[str, int] | None) -> None:
    """Say where brokers listen and store, and where ZooKeeper's clients are served, if they are."""
    print(f"kcompat is listening on {addresses} and stores in {', '.join(config.log_dirs)}", flush=True)
    if zookeeper is not None:
        host, port = zookeeper
        print(f"ZooKeeper's clients are served at {host}:{port}", flush=True)
