"""One broker and clusters of other sizes on the directory of a cluster, and the reverse."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker, Cluster
from kcompat.config.errors import ConfigError
from kcompat.log.errors import LogDirectoryError
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import limit_s
from support.raw_client import RawClient
from support.raw_requests import create_topic, produce, read_all
from support.start_command import started

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LOCAL = ("--override", "listeners=PLAINTEXT://127.0.0.1:0")
VOTERS = "1@a.example:9093,2@b.example:9093,3@c.example:9093"


def refusal(*arguments: str, cwd: Path) -> str:
    """Return the sentence with which `kcompat start` refuses."""
    with started(*LOCAL, *arguments, cwd=cwd) as process:
        out, err = process.communicate(timeout=limit_s(60))
    assert (process.returncode, out) == (1, "")
    assert err.startswith("kcompat: ")
    assert err.count("\n") == 1
    return err


def refusal_of_image(settings: Mapping[str, str], cwd: Path) -> str:
    """Return the sentence with which the command of the image refuses these settings."""
    local = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": "other", **settings}
    variables = [f"KAFKA_{key.upper().replace('.', '_')}={value}" for key, value in local.items()]
    command = [
        sys.executable,
        "-m",
        "kcompat",
        "container",
        "run",
        *variables,
        "KAFKA_LOG4J_ROOT_LOGLEVEL=ERROR",
    ]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=limit_s(60))
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def contents(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def test_the_directory_of_a_cluster_is_refused_to_one_broker_and_to_fewer(tmp_path: Path) -> None:
    with Cluster(3, data_dir=tmp_path / "d"):
        pass
    before = contents(tmp_path / "d")
    for arguments in ((), ("--brokers", "2"), ("--brokers", "2", "--processes")):
        sentence = refusal("--data-dir", "d", *arguments, cwd=tmp_path)
        assert "start it with --brokers 3" in sentence, arguments
    assert "start it with --brokers 3" in refusal_of_image({"log.dirs": "d"}, tmp_path)
    with pytest.raises(LogDirectoryError, match=r"kcompat\.Cluster\(3\)"):
        Broker(data_dir=tmp_path / "d").start()
    with pytest.raises(LogDirectoryError, match=r"kcompat\.Cluster\(3\)"):
        Cluster(2, data_dir=tmp_path / "d").start()
    assert contents(tmp_path / "d") == before


def test_the_directory_of_one_member_is_refused_to_a_broker_alone(tmp_path: Path) -> None:
    with Cluster(3, data_dir=tmp_path / "d"):
        pass
    before = contents(tmp_path / "d")
    for member in (0, 1):
        assert f"holds the data of broker {member} of the cluster in {tmp_path / 'd'}" in refusal(
            "--data-dir", f"d/broker-{member}", cwd=tmp_path
        )
    with pytest.raises(LogDirectoryError, match=r"of the cluster in"):
        Broker(data_dir=tmp_path / "d" / "broker-2").start()
    assert contents(tmp_path / "d") == before
    with Cluster(3, data_dir=tmp_path / "d"):
        pass


def test_the_directory_of_one_broker_is_refused_to_a_cluster(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "d"):
        pass
    before = contents(tmp_path / "d")
    for arguments in (("--brokers", "3"), ("--brokers", "3", "--processes")):
        assert "start it without --brokers" in refusal("--data-dir", "d", *arguments, cwd=tmp_path), arguments
    for brokers in (1, 3):
        with pytest.raises(LogDirectoryError, match=r"kcompat\.Broker"):
            Cluster(brokers, data_dir=tmp_path / "d").start()
    assert contents(tmp_path / "d") == before


def test_a_cluster_grows_on_its_directory(tmp_path: Path) -> None:
    with Cluster(1, data_dir=tmp_path) as cluster, client(cluster.bootstrap_servers) as first:
        assert create_topic(first, "t") == 0
        assert produce(first, "t", build_batch([Record(0, 0, None, b"before")])).error_code == 0
    with Cluster(3, data_dir=tmp_path) as cluster:
        cluster.wait_until_in_sync()
        assert cluster.leader_of("t", 0) == 0
        with client(cluster.brokers[0].bootstrap_servers) as first:
            assert [record.value for record in read_all(first, "t")] == [b"before"]
        with client(cluster.brokers[2].bootstrap_servers) as newcomer:
            shown = newcomer.call(MetadataRequest(topics=[]), 10)
        assert [broker.node_id for broker in shown.brokers] == [0, 1, 2]
        with client(cluster.brokers[shown.controller_id].bootstrap_servers) as controller:
            assert create_topic(controller, "u", replicas=3) == 0
        cluster.wait_until_in_sync()


def client(address: str) -> RawClient:
    host, _, port = address.rpartition(":")
    return RawClient((host, int(port)))


@pytest.mark.parametrize(
    "settings",
    [
        {"process.roles": "broker,controller", "controller.quorum.voters": VOTERS},
        {"process.roles": "broker", "controller.quorum.voters": "1@a.example:9093"},
        {"process.roles": "broker,controller", "controller.quorum.bootstrap.servers": "a:9093,b:9093"},
    ],
    ids=["voters", "roles", "controllers"],
)
def test_a_node_of_a_larger_kraft_cluster_is_refused(tmp_path: Path, settings: dict[str, str]) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    with pytest.raises(ConfigError, match="KRaft cluster of several nodes") as refused:
        Broker(config=settings)
    assert refusal(str(properties), cwd=tmp_path) == f"kcompat: {refused.value}\n"
    assert refusal_of_image(settings, tmp_path) == f"kcompat: {refused.value}\n"
    assert list(tmp_path.iterdir()) == [properties]
    with Cluster(2, config=settings) as cluster:
        assert len(cluster.bootstrap_servers.split(",")) == 2
