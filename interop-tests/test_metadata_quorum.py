"""Clients and tools describe the metadata quorum: of one broker, and of three over a real ZooKeeper."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from broker_cluster import BrokerCluster
from drivers.kafka_python import KafkaPython3
from support.kcompat_broker import KcompatBroker
from tool_bench import CLASSES, LAST_OF_VERSIONS, insist_on_tools
from tools_jvm import ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.broker_process import BrokerProcess


class Told(NamedTuple):
    """The brokers of a cluster, and what one of them says of its quorum to a Python client."""

    brokers: Mapping[int, BrokerProcess]
    controller: int
    address: str
    """Host and port of the controller."""
    quorum: dict[str, Any]


THREE = pytest.mark.thorough("tests/wire/test_metadata_quorum.py has three brokers")


@pytest.fixture(scope="module", params=[1, pytest.param(3, marks=THREE)], ids=("one", "three"))
def told(request: pytest.FixtureRequest) -> Iterator[Told]:
    insist_on_tools()
    with ExitStack() as running:
        if request.param == 1:
            brokers = {1: running.enter_context(KcompatBroker({"broker.id": "1"}))}
        else:
            brokers = running.enter_context(BrokerCluster()).brokers
        bootstrap = ",".join(broker.bootstrap for broker in brokers.values())
        with closing(KafkaPython3(bootstrap)) as client:
            cluster = client.admin.describe_cluster()
            controller = cluster["controller_id"]
            (address,) = [
                f"{node['host']}:{node['port']}"
                for node in cluster["brokers"]
                if node["broker_id"] == controller
            ]
            yield Told(brokers, controller, address, client.admin.describe_metadata_quorum())
        for broker in brokers.values():
            assert "Traceback" not in broker.log_tail(1_000_000), broker.log_tail(8000)


def observers(told: Told) -> list[int]:
    """Return the brokers that are not the controller."""
    return sorted(told.brokers.keys() - {told.controller})


def test_kafka_python_describes_the_quorum(told: Told) -> None:
    (topic,) = told.quorum["topics"]
    (row,) = topic["partitions"]
    assert (topic["topic_name"], row["partition_index"], row["error"]) == ("__cluster_metadata", 0, None)
    assert row["leader_id"] == told.controller
    assert row["leader_epoch"] >= 1
    (voter,) = row["current_voters"]
    assert (voter["replica_id"], voter["log_end_offset"]) == (told.controller, row["high_watermark"])
    assert row["high_watermark"] > 0
    assert [each["replica_id"] for each in row["observers"]] == observers(told)
    (node,) = told.quorum["nodes"]
    assert node["node_id"] == told.controller
    (listener,) = node["listeners"]
    assert f"{listener['host']}:{listener['port']}" == told.address


@pytest.fixture(scope="module", params=LAST_OF_VERSIONS)
def jvm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolsJvm]:
    insist_on_tools()
    runner = tmp_path_factory.mktemp(f"quorum-{request.param}")
    compile_runner(request.param, runner)
    with closing(ToolsJvm(request.param, runner)) as started:
        yield started


def describe(jvm: ToolsJvm, told: Told, what: str) -> str:
    """Return what `kafka-metadata-quorum describe` prints."""
    bootstrap = ",".join(broker.bootstrap for broker in told.brokers.values())
    ended = jvm.run(CLASSES["metadata-quorum"], ["--bootstrap-server", bootstrap, "describe", what])
    assert ended.code == "0", ended
    return ended.out


def test_the_tool_prints_the_status(jvm: ToolsJvm, told: Told) -> None:
    said = dict(re.findall(r"(?m)^(\w+): +(.*?) *$", describe(jvm, told, "--status")))
    assert said["LeaderId"] == str(told.controller)
    assert int(said["LeaderEpoch"]) == told.quorum["topics"][0]["partitions"][0]["leader_epoch"]
    assert int(said["HighWatermark"]) >= told.quorum["topics"][0]["partitions"][0]["high_watermark"]
    assert (said["MaxFollowerLag"], said["MaxFollowerLagTimeMs"]) == ("0", "0")
    (voter,) = json.loads(said["CurrentVoters"])
    assert voter["id"] == told.controller
    assert voter["endpoints"] == [f"PLAINTEXT://{told.address}"]
    assert [each["id"] for each in json.loads(said["CurrentObservers"])] == observers(told)


def test_the_tool_prints_the_replication(jvm: ToolsJvm, told: Told) -> None:
    head, *rows = (line.split() for line in describe(jvm, told, "--replication").splitlines() if line)
    assert head[0] == "NodeId"
    shown = [dict(zip(head, row, strict=True)) for row in rows]
    assert [(row["NodeId"], row["Status"]) for row in shown] == [
        (str(told.controller), "Leader"),
        *((str(each), "Observer") for each in observers(told)),
    ]
    leader = shown[0]
    assert (int(leader["LogEndOffset"]) > 0, leader["Lag"]) == (True, "0")
    unknown = [row for row in shown if row["LogEndOffset"] == "-1"]
    assert len(shown) - len(unknown) <= 2, "the controller, and the broker that has answered"
