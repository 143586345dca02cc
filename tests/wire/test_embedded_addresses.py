"""Addresses, directories and texts of embedded brokers, and their `async with`."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from kcompat import Broker, Cluster
from kcompat.errors import UsageError

TWO_LISTENERS = {
    "listeners": "OUTSIDE://127.0.0.1:0,INTERNAL://localhost:0",
    "listener.security.protocol.map": "OUTSIDE:PLAINTEXT,INTERNAL:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
}


def test_each_listener_has_its_address_by_name() -> None:
    with Broker(config=TWO_LISTENERS) as broker:
        outside, internal = broker.listeners.values()
        assert [*broker.listeners] == [outside.name, internal.name] == ["OUTSIDE", "INTERNAL"]
        assert internal.bootstrap_servers == f"localhost:{internal.port}"
        assert outside.port != internal.port
        for each in (outside, internal):
            socket.create_connection((each.host, each.port)).close()
        assert (broker.host, broker.port) == (outside.host, outside.port) == ("127.0.0.1", outside.port)
        assert broker.bootstrap_servers == outside.bootstrap_servers == f"127.0.0.1:{outside.port}"
        assert broker.client_config()["bootstrap.servers"] == outside.bootstrap_servers
        assert broker.client_config(listener="INTERNAL")["bootstrap.servers"] == internal.bootstrap_servers
        with pytest.raises(UsageError, match="no listener 'C': use one of OUTSIDE, INTERNAL"):
            broker.client_config(listener="C")
    with pytest.raises(UsageError, match="the broker is not started"):
        _ = broker.port


def test_every_interface_is_reached_at_this_machine() -> None:
    with Broker(host="0.0.0.0") as broker:
        assert broker.host == "localhost"


def test_directories_are_known_and_temporary_ones_while_there_are_any(tmp_path: Path) -> None:
    broker = Broker()
    with pytest.raises(UsageError, match="the broker is not started"):
        _ = broker.data_dir
    with broker:
        directory = broker.data_dir
        assert (directory / "meta.properties").is_file()
    assert not directory.exists()
    assert Broker(data_dir=tmp_path).data_dir == tmp_path
    assert Broker(config={"log.dirs": ["/a", "/b"]}).data_dir == Path("/a")


def test_a_broker_shows_where_it_is_and_no_secret(tmp_path: Path) -> None:
    broker = Broker(data_dir=tmp_path, users={"alice": "hidden"})
    assert repr(broker) == "<Broker, not started>"
    with broker:
        assert repr(broker) == f"<Broker at 127.0.0.1:{broker.port}, data in {tmp_path}>"
    assert repr(broker) == "<Broker, not started>"


def test_a_cluster_and_its_brokers_show_where_they_are(tmp_path: Path) -> None:
    cluster = Cluster(2, data_dir=tmp_path)
    one, other = cluster.brokers
    assert (repr(cluster), repr(one)) == ("<Cluster, not started>", "<ClusterBroker 0, not running>")
    with cluster:
        assert (
            repr(cluster) == f"<Cluster at 127.0.0.1:{one.port},127.0.0.1:{other.port}, data in {tmp_path}>"
        )
        assert repr(other) == f"<ClusterBroker 1 at {other.listeners['PLAINTEXT'].bootstrap_servers}>"
        assert (other.data_dir / "meta.properties").is_file()
        assert other.data_dir.parent == cluster.data_dir == tmp_path
        for each in cluster.brokers:
            each.kill()
        assert repr(cluster) == f"<Cluster at no address, data in {tmp_path}>"
        assert repr(other) == "<ClusterBroker 1, not running>"
        with pytest.raises(UsageError, match="no broker of the cluster is running: start one first"):
            _ = cluster.bootstrap_servers
        with pytest.raises(UsageError, match="broker 1 is not running: start it first"):
            _ = other.host


async def test_a_program_on_a_loop_goes_on_while_a_broker_starts() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    async with Broker() as broker:
        assert ticks > 10
        _, writer = await asyncio.open_connection(broker.host, broker.port)
        writer.close()
    with pytest.raises(UsageError, match="the broker is not started"):
        _ = broker.host
    async with Cluster(2) as cluster:
        assert len(cluster.bootstrap_servers.split(",")) == 2
    ticking.cancel()
