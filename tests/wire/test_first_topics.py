"""Topics that brokers have from their start: embedded, by the command line and in a container."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker, Cluster
from kcompat.errors import ConfigError
from kcompat.protocol.messages.describe_configs import DescribeConfigsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from support.eventually import limit_s
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import delete_topic, describe_topic
from support.start_command import started

if TYPE_CHECKING:
    from pathlib import Path

TOPIC_RESOURCE = 2
LOCAL = ("--override", "listeners=PLAINTEXT://127.0.0.1:0")


def client_of(address: str) -> RawClient:
    host, _, port = address.rpartition(":")
    return RawClient((host, int(port)))


def shape(client: RawClient, topic: str) -> tuple[int, int]:
    """Partitions and replicas of a topic that is there and has leaders."""
    found = describe_topic(client, topic)
    assert found.error_code == 0
    assert all(partition.leader_id >= 0 for partition in found.partitions)
    return len(found.partitions), len(found.partitions[0].replica_nodes)


def value_of(client: RawClient, topic: str, key: str) -> str:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=TOPIC_RESOURCE, resource_name=topic, configuration_keys=[key]
    )
    (config,) = client.call(DescribeConfigsRequest(resources=[resource]), 4).results[0].configs
    return str(config.value)


def test_topics_are_there_when_the_start_returns_and_stay_on_a_kept_directory(tmp_path: Path) -> None:
    users = {"partitions": 2, "cleanup.policy": "compact"}
    for policy in ("compact", "delete"):  # a topic that is there keeps what it has
        topics = {"orders": 3, "users": {**users, "cleanup.policy": policy}, "plain": {}}
        broker = Broker(data_dir=tmp_path, topics=topics, config={"num.partitions": 4})
        with broker, client_of(broker.bootstrap_servers) as client:
            assert [shape(client, name) for name in topics] == [(3, 1), (2, 1), (4, 1)]
            assert value_of(client, "users", "cleanup.policy") == "compact"


def test_a_topic_with_other_partitions_is_refused_and_nothing_is_left_running(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path, topics={"orders": 1}):
        pass
    with pytest.raises(ConfigError, match="topic 'orders' exists with 1 partition, not 2: ask for 1, or use"):
        Broker(data_dir=tmp_path, topics={"orders": 2, "new": 1}).start()
    with pytest.raises(
        ConfigError, match=r"topic 'a_b' cannot be created: .* collides with existing topic: a\.b"
    ):
        Broker(data_dir=tmp_path, topics={"a.b": 1, "a_b": 1}).start()
    with (
        Broker(data_dir=tmp_path, topics=["orders"]) as broker,
        client_of(broker.bootstrap_servers) as client,
    ):
        assert shape(client, "orders") == (1, 1)


def test_a_client_that_waits_for_the_broker_does_not_create_them_first() -> None:
    port, over = free_port(), threading.Event()
    wanted = MetadataRequest.MetadataRequestTopic(name="orders")

    def ask() -> None:
        while not over.is_set():
            with suppress(OSError), RawClient(("127.0.0.1", port)) as client:
                client.call(MetadataRequest(topics=[wanted], allow_auto_topic_creation=True), 10)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        with Broker(port=port, topics={"orders": 3}) as broker, client_of(broker.bootstrap_servers) as client:
            assert shape(client, "orders") == (3, 1)
    finally:
        over.set()
        asking.join()


def test_a_reset_brings_them_back_and_a_snapshot_without_them_does_not() -> None:
    with Broker(topics={"orders": 3}) as broker:
        with client_of(broker.bootstrap_servers) as client:
            assert delete_topic(client, "orders") == 0
        without = broker.snapshot()
        broker.reset()
        assert [topic.name for topic in broker.topics().values()] == ["orders"]
        with client_of(broker.bootstrap_servers) as client:
            assert shape(client, "orders") == (3, 1)
        broker.restore(without)
        assert broker.topics() == {}


def test_every_broker_of_a_cluster_knows_them() -> None:
    orders, users = {"partitions": 3, "replication.factor": 2}, {"cleanup.policy": "compact"}
    topics = {"orders": orders, "plain": 1, "users": users}
    with Cluster(3, topics=topics) as cluster:
        for broker in cluster.brokers:
            with client_of(broker.bootstrap_servers) as client:
                assert [shape(client, name) for name in topics] == [(3, 2), (1, 1), (1, 1)]
                assert value_of(client, "users", "cleanup.policy") == "compact"


@pytest.mark.parametrize("mode", [(), ("--brokers", "2"), ("--brokers", "2", "--processes")], ids=len)
def test_the_command_creates_them_before_it_says_that_it_is_ready(
    tmp_path: Path, mode: tuple[str, ...]
) -> None:
    replicas = 2 if mode else 1
    asked = ("--topic", f"orders:3:{replicas}", "--topic", "users,cleanup.policy=compact,delete")
    with started(*LOCAL, *mode, *asked, cwd=tmp_path) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("kcompat is listening on "), process.communicate()
        for address in line.split()[4].split(","):
            with client_of(address) as client:
                assert shape(client, "orders") == (3, replicas)
                assert value_of(client, "users", "cleanup.policy") == "compact,delete"
        process.send_signal(signal.SIGTERM)
        assert process.wait(limit_s(30)) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--topic", "a:0"), "kcompat: partitions=0 of topic 'a' cannot be: use a number, 1 or more\n"),
        (
            ("--topic", "a", "--topic", "a:2"),
            "kcompat: topic 'a' is named twice: give all of its settings at once\n",
        ),
    ],
)
def test_the_command_refuses_what_cannot_be_a_topic(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    with started(*LOCAL, *arguments, cwd=tmp_path) as process:
        assert process.communicate(timeout=limit_s(60)) == ("", sentence)
    assert process.returncode == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("arguments", "name"), [((), "variable"), (("--topic", "option:0"), "option")])
def test_topics_of_the_command_line_count_before_those_of_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], name: str
) -> None:
    monkeypatch.setenv("KCOMPAT_TOPICS", "variable:0")
    with started(*LOCAL, *arguments, cwd=tmp_path) as process:
        _, err = process.communicate(timeout=limit_s(60))
    assert err == f"kcompat: partitions=0 of topic {name!r} cannot be: use a number, 1 or more\n"


@pytest.mark.thorough("the same with kcompat.Broker")
@pytest.mark.parametrize("mode", [("--brokers", "2"), ("--brokers", "2", "--processes")], ids=len)
def test_the_command_refuses_a_topic_with_other_partitions(tmp_path: Path, mode: tuple[str, ...]) -> None:
    with Cluster(2, data_dir=tmp_path / "kcompat-data", topics={"orders": 3}):
        pass
    with started(*LOCAL, *mode, "--topic", "orders:2", cwd=tmp_path) as process:
        out, err = process.communicate(timeout=limit_s(60))
    assert (process.returncode, out) == (1, "")
    assert "topic 'orders' exists with 3 partitions, not 2: ask for 3, or use another data directory" in err
    assert err.count("\n") == 1
