"""`kcompat take-over`: a real Kafka's metadata out of a real ZooKeeper, and its logs, with nothing lost."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

import test_data_directories as directories
from support.eventually import eventually, limit_s
from support.kcompat_broker import KcompatBroker
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

CHROOT = "/some/kafka"
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.9", "max.message.bytes": "4321"}


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[ZooKeeper]:
    with ZooKeeper() as zookeeper:
        yield zookeeper


@pytest.fixture(scope="module")
def left(zookeeper: ZooKeeper, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Where a Kafka that was stopped has its data, and what it showed."""
    home = tmp_path_factory.mktemp("kafka")
    with ZooKeeperKafka(zookeeper, home, {"broker.id": "3"}, CHROOT) as kafka:
        directories.fill(kafka)
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        for made in admin.create_topics([NewTopic("empty", 5, 1, config=COMPACTED)]).values():
            made.result(30)
        for grown in admin.create_partitions([NewPartitions("t-none", 4)]).values():
            grown.result(30)
        two = ConfigEntry("log.cleaner.threads", "2", incremental_operation=AlterConfigOpType.SET)
        broker = ConfigResource(ConfigResource.Type.BROKER, "3", incremental_configs=[two])
        for altered in admin.incremental_alter_configs([broker]).values():
            altered.result(30)
        assert "a broker is running on" in take_over(home, zookeeper).stderr
        eventually(lambda: directories.serves(kafka, 8), "the partitions that were added are served")
        seen = directories.picture(kafka) | {"configs": configs(kafka)}
    (home / "process.log").rename(home / "kafka.log")
    return home, seen


def take_over(home: Path, zookeeper: ZooKeeper, chroot: str = CHROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kcompat", "take-over", "--data-dir", str(home / "data")]
    return subprocess.run(
        [*command, "--zookeeper", f"{zookeeper.bootstrap}{chroot}"],
        capture_output=True,
        text=True,
        timeout=limit_s(60),
        check=False,
    )


def configs(broker: BrokerProcess) -> dict[str, dict[str, str]]:
    """Return the configs that were set, for topics and for the broker."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    topics = admin.list_topics(timeout=30).topics
    resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
    resources.append(ConfigResource(ConfigResource.Type.BROKER, "3"))
    dynamic = (1, 2)  # Kafka's ConfigSource: of the topic, of the broker
    return {
        resource.name: {
            name: entry.value for name, entry in described.result(30).items() if entry.source in dynamic
        }
        for resource, described in admin.describe_configs(resources).items()
    }


def test_all_of_a_kafka(left: tuple[Path, dict[str, Any]], zookeeper: ZooKeeper) -> None:
    home, before = left
    assert before["configs"]["empty"] == COMPACTED
    assert before["configs"]["t-gzip"] == directories.SEGMENTS
    assert before["configs"]["3"] == {"log.cleaner.threads": "2"}
    for chroot, complaint in (("", "no Kafka has kept its metadata there"), ("/no", "has no such node")):
        refused = take_over(home, zookeeper, chroot)
        assert (refused.returncode, complaint in refused.stderr) == (1, True), refused
    assert not (home / "data" / "metadata.db").exists()
    done = take_over(home, zookeeper)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"cluster {before['cluster']}, 8 topics with 68 partitions." in done.stdout
    again = take_over(home, zookeeper)
    assert "has the metadata of a cluster already" in again.stderr
    with KcompatBroker(directories.AT_ONCE, home) as ours:
        eventually(lambda: directories.serves(ours, 8), "all partitions and groups are served")
        assert directories.picture(ours) | {"configs": configs(ours)} == before
        assert "configurations are not known" not in ours.log_tail()
        assert directories.new_producer_id(ours) > max(
            state[0] for states in before["producers"].values() for state in states
        )
