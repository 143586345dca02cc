"""The commands of docs/how-to/move-a-cluster.md, one by one, while producers and a consumer go on."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from broker_cluster import SETTINGS, UNHURRIED, BrokerCluster, settled_replicas
from cluster_load import LIGHT_PAUSE_S, Load
from support.broker_process import BrokerProcess
from support.eventually import eventually
from support.history import violations
from support.new_epochs import NewEpochs
from support.places import CACHE, REPOSITORY
from support.ports import free_port
from tool_bench import CLASSES
from tools_jvm import ToolsJvm, compile_runner

if TYPE_CHECKING:
    from pathlib import Path

PAGE = REPOSITORY / "docs" / "how-to" / "move-a-cluster.md"
COMMAND = re.compile(r"(?m)^(admin|broker-(\d))\$ (.+)$")
MOVES = re.compile(r"(?s)```json\n(.+?)```")
SCRIPTS = {"kafka-topics.sh": "topics", "kafka-leader-election.sh": "leader-election"}
SCRIPTS["kafka-reassign-partitions.sh"] = "reassign"
PROPERTIES = "/etc/kafka/server.properties"
TOPIC, PLACED = "orders", ((1, 2, 3), (2, 3, 1), (3, 1, 2))
NEW = 4
WAIT_S = 60


class FromFile(BrokerProcess):
    """`kcompat start` with the server.properties in a directory."""

    name = "kcompat"

    def command(self) -> list[str]:
        return [sys.executable, "-m", "kcompat", "start", str(self.home / "server.properties")]


class Hosts:
    """The machines of the page: what runs on each, and what happens there when a command is typed."""

    def __init__(self, cluster: BrokerCluster, jvm: ToolsJvm, home: Path, undo: ExitStack) -> None:
        self._cluster, self._jvm, self._undo = cluster, jvm, undo
        self._kafkas = dict(cluster.brokers)
        self._moves = home / "moves.json"
        (moves,) = MOVES.findall(PAGE.read_text())
        self._moves.write_text(moves)
        self._goal = {row["partition"]: row["replicas"] for row in json.loads(moves)["partitions"]}
        self._new = home / "new"
        self._new_port = free_port()
        self._new.mkdir()
        own = {
            **SETTINGS,
            **UNHURRIED,
            "broker.id": str(NEW),
            "listeners": f"PLAINTEXT://127.0.0.1:{self._new_port}",
            "log.dirs": str(self._new / "data"),
            "zookeeper.connect": cluster.zookeeper.bootstrap,
        }
        (self._new / "server.properties").write_text("".join(f"{k}={v}\n" for k, v in own.items()))

    def do_on_broker(self, broker_id: int, command: str) -> None:
        """Start or stop what a machine runs."""
        brokers = self._cluster.brokers
        match command.split():
            case ["kafka-server-stop.sh"]:
                assert brokers[broker_id] is self._kafkas[broker_id]
                brokers[broker_id].stop()
            case ["systemctl", "stop", "kcompat"]:
                assert isinstance(brokers[broker_id], FromFile)
                brokers[broker_id].stop()
            case ["kafka-server-start.sh", path] if path == PROPERTIES:
                brokers[broker_id] = self._kafkas[broker_id]
                brokers[broker_id].start()
            case ["kcompat", "start", path] if path == PROPERTIES:
                before = self._kafkas.get(broker_id)
                home, port = (before.home, before.port) if before else (self._new, self._new_port)
                brokers[broker_id] = FromFile(home, port)
                self._undo.callback(brokers[broker_id].stop)
                brokers[broker_id].start()
            case _:
                raise AssertionError(command)

    def do_as_admin(self, command: str) -> None:
        """Run a tool, again and again if it is one that is repeated until it says that all is done, which it
        is asked for when it can say so: each time costs as much as starting a broker of ours.
        """
        script, *arguments = shlex.split(command)
        for broker_id, broker in self._cluster.brokers.items():
            arguments = [each.replace(f"broker-{broker_id}:9092", broker.bootstrap) for each in arguments]
        arguments = [each.replace("moves.json", str(self._moves)) for each in arguments]

        def says_done() -> bool:
            ended = self._jvm.run(CLASSES[SCRIPTS[script]], arguments)
            assert ended.code == "0", ended
            if "--describe" in arguments:
                return not ended.out.strip()
            return "--verify" not in arguments or ended.out.count("is completed.") == len(PLACED)

        if "--describe" in arguments:
            self._cluster.wait_until_in_sync(WAIT_S)
        if "--verify" in arguments:
            self._cluster.wait(self._is_moved, WAIT_S)
        eventually(says_done, f"{command} says so", WAIT_S)

    def _is_moved(self, shown: Any) -> bool:
        return all(
            settled_replicas(shown, TOPIC, partition) == replicas
            for partition, replicas in self._goal.items()
        )


@pytest.mark.thorough("test_replicas_beside_kafka.py and test_take_over.py")
@pytest.mark.timeout(400)
def test_a_cluster_moves_in_and_out_as_the_page_says(tmp_path: Path) -> None:
    """No producer and no consumer notices."""
    if shutil.which("javac") is None or not (CACHE / "kafka-3.9.2" / "libs").is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    compile_runner("3.9.2", tmp_path)
    with (
        BrokerCluster(("kafka",) * 3) as cluster,
        closing(ToolsJvm("3.9.2", tmp_path)) as jvm,
        ExitStack() as undo,
    ):
        hosts = Hosts(cluster, jvm, tmp_path, undo)
        cluster.create_topic(TOPIC, len(PLACED), placed=PLACED)
        with Load(cluster.bootstrap, TOPIC, len(PLACED), producers=2, pause_s=LIGHT_PAUSE_S) as load:
            for host, number, command in COMMAND.findall(PAGE.read_text()):
                if host == "admin":
                    hosts.do_as_admin(command)
                else:
                    hosts.do_on_broker(int(number), command)
                now_s = time.monotonic()
                for index in range(len(PLACED)):
                    load.wait_for_acknowledgement(index, now_s, WAIT_S)
        load.read_to_the_end()
        assert {cluster.leader_of(TOPIC, index) for index in range(len(PLACED))} == {1, 2, NEW}
        for broker in cluster.brokers.values():
            broker.kill()
        logs = {}
        for index in range(len(PLACED)):
            copies = cluster.contents(TOPIC, index)
            assert sorted(copies) == [1, 2, NEW]
            assert len(set(copies.values())) == 1
            logs[TOPIC, index] = copies[NEW]
        epochs = NewEpochs(load.history, load.refusals, logs)
        assert epochs.refused_without_a_gap() == []
        assert violations(load.history, sent_anew=epochs.sent_anew) == []
