"""`kcompat hand-over` to a real ZooKeeper: what it writes there, that it can be repeated, what it refuses.

That a Kafka starts on the result is shown in `test_data_directories`.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from kazoo.client import KazooClient

from kcompat import Broker
from kcompat.cluster.feature_levels import encode_finalized
from kcompat.store.sqlite_journal import SqliteJournal
from support.eventually import limit_s
from support.raw_client import RawClient
from support.raw_requests import create_topic
from zookeeper_kafka import ZooKeeper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a broker of ours with two topics."""
    directory = tmp_path_factory.mktemp("data")
    with Broker(data_dir=directory, config={"broker.id": "1234"}) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with RawClient((host, int(port))) as client:
            create_topic(client, "a", partitions=3)
            create_topic(client, "b", configs={"retention.ms": "5"})
    return directory


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[ZooKeeper]:
    with ZooKeeper() as zookeeper:
        yield zookeeper


@pytest.fixture
def client(zookeeper: ZooKeeper) -> Iterator[KazooClient]:
    """A client of the ZooKeeper, which is empty but for its own nodes."""
    client = KazooClient(zookeeper.bootstrap)
    client.start()
    for name in set(client.get_children("/")) - {"zookeeper"}:
        client.delete(f"/{name}", recursive=True)
    yield client
    client.stop()
    client.close()


def hand_over(directory: Path, connect: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kcompat", "hand-over", "--data-dir", str(directory)]
    return subprocess.run(
        [*command, "--zookeeper", connect], capture_output=True, text=True, timeout=limit_s(60), check=False
    )


def nodes_in(client: KazooClient, path: str) -> dict[str, bytes]:
    """All nodes below a path, by their names below it."""
    found = {}
    for name in client.get_children(path or "/"):
        if (path, name) != ("", "zookeeper"):
            found[f"{path}/{name}"] = client.get(f"{path}/{name}")[0]
            found.update(nodes_in(client, f"{path}/{name}"))
    return found


def test_all_persistent_nodes_of_the_store(
    directory: Path, zookeeper: ZooKeeper, client: KazooClient
) -> None:
    done = hand_over(directory, zookeeper.bootstrap)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 topics with 4 partitions." in done.stdout
    assert "broker.id=1234\nreserved.broker.max.id=1234\n" in done.stdout
    journal = SqliteJournal(directory / "metadata.db")
    stored = {path: node.data for path, node in journal.load().nodes.items() if path != "/"}
    journal.close()
    stored["/feature"] = encode_finalized({})  # with one that is finalized, Kafka would not start
    registered = nodes_in(client, "")
    assert registered.items() <= stored.items()
    assert sorted(stored.keys() - registered.keys()) == []
    assert b'"retention.ms":"5"' in registered["/config/topics/b"]


@pytest.mark.parametrize("chroot", ["", "/chroot/of/kafka"])
def test_it_goes_on_where_it_was_interrupted(
    directory: Path, zookeeper: ZooKeeper, client: KazooClient, chroot: str
) -> None:
    connect = f"{zookeeper.bootstrap}{chroot}"
    assert hand_over(directory, connect).returncode == 0
    everything = nodes_in(client, chroot)
    assert f"{chroot}/cluster/id" in everything
    client.delete(f"{chroot}/cluster/id")
    client.delete(f"{chroot}/config/topics/b")
    client.delete(f"{chroot}/brokers/topics/a/partitions", recursive=True)
    done = hand_over(directory, connect)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"({len(everything) - 9} of {len(everything)} nodes were there)" in done.stdout
    assert nodes_in(client, chroot) == everything
    assert hand_over(directory, connect).returncode == 0
    assert nodes_in(client, chroot) == everything


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/cluster/id", "it has another cluster already"),
        ("/brokers/ids/3", "broker 3 is running on it"),
        ("/brokers/topics/c", "it has topics that the data directory has not: c"),
        ("/config/topics/b", "its /config/topics/b is x and would be"),
    ],
)
def test_what_is_there_is_never_changed(
    directory: Path, zookeeper: ZooKeeper, client: KazooClient, path: str, complaint: str
) -> None:
    client.create(path, b"x", makepath=True)
    before = nodes_in(client, "")
    done = hand_over(directory, zookeeper.bootstrap)
    assert (done.returncode, done.stdout) == (1, "")
    assert complaint in done.stderr
    assert f"--zookeeper {zookeeper.bootstrap}/NAME" in done.stderr
    assert nodes_in(client, "") == before
