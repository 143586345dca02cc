"""Faults on purpose as Kafka's own clients and tools see them, of releases 3.9.2 and 4.3.0.

The producer and the consumer of 4.3 name topics by their ids.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from drivers.troubled import FAMILIES, TIMEOUT_S
from kcompat import Broker
from tool_bench import MOVED, TOOLS, VERSIONS, insist_on_tools
from tools_jvm import Ended, ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "log.retention.ms": -1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}
pytestmark = pytest.mark.thorough("test_faults_and_clients.py has clients that need no Java")


class Tools:
    """The tools of one release, at one broker."""

    def __init__(self, release: str, jvm: ToolsJvm, bootstrap: str) -> None:
        self._producer = MOVED["console-producer"] if release == "3.9.2" else f"{TOOLS}ConsoleProducer"
        self.release = release
        self._jvm = jvm
        self._bootstrap = ["--bootstrap-server", bootstrap]

    def produce(self, topic: str, value: str) -> Ended:
        return self._jvm.run(self._producer, [*self._bootstrap, "--topic", topic], f"{value}\n")

    def consume(self, topic: str, count: int) -> Ended:
        arguments = [*self._bootstrap, "--topic", topic, "--from-beginning", "--max-messages", str(count)]
        return self._jvm.run(f"{TOOLS}consumer.ConsoleConsumer", arguments)

    def transactions(self, *arguments: str) -> Ended:
        return self._jvm.run(f"{TOOLS}TransactionsCommand", [*self._bootstrap, *arguments])


@pytest.fixture(scope="module")
def faulty() -> Iterator[Broker]:
    with Broker(config=SETTINGS) as broker:
        yield broker


@pytest.fixture(scope="module", params=VERSIONS)
def tools(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, faulty: Broker
) -> Iterator[Tools]:
    insist_on_tools()
    runner = tmp_path_factory.mktemp("runner")
    compile_runner(request.param, runner)
    with closing(ToolsJvm(request.param, runner)) as jvm:
        yield Tools(request.param, jvm, faulty.bootstrap_servers)


def test_a_java_producer_repeats_what_it_may_repeat(faulty: Broker, tools: Tools, name: str) -> None:
    with faulty.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic=name, partition=0, times=2) as fault:
        ended = tools.produce(name, "hidden")
    assert fault.struck == 2, ended
    with faulty.faults.fail("Produce", "MESSAGE_TOO_LARGE", topic=name) as fault:
        ended = tools.produce(name, "reported")
    assert fault.struck == 1
    if tools.release == "3.9.2":  # where the tool of 4.3 writes its log is up to log4j 2
        assert "RecordTooLargeException" in ended.out + ended.err
    assert FAMILIES["confluent"].read(faulty.bootstrap_servers, name, 1) == [b"hidden"]


def test_a_java_consumer_fetches_again(faulty: Broker, tools: Tools, name: str) -> None:
    for value in ("one", "two"):
        tools.produce(name, value)
    with faulty.faults.fail("Fetch", "NOT_LEADER_OR_FOLLOWER", topic=name, times=3) as fault:
        assert tools.consume(name, 2).out.split() == ["one", "two"]
    assert fault.struck == 3


def test_a_hanging_transaction_is_found_and_aborted(faulty: Broker, tools: Tools, name: str) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": faulty.bootstrap_servers, "transactional.id": name}
    )
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(name, b"hangs", timestamp=1000)  # long ago: the tool looks for old transactions
    assert producer.flush(TIMEOUT_S) == 0
    place = ["--topic", name, "--partition", "0"]
    assert name not in tools.transactions("find-hanging", *place).out
    with faulty.hang_transaction(name) as fault:
        assert name in tools.transactions("find-hanging", *place).out
        aborted = tools.transactions("abort", *place, "--start-offset", "0")
        assert fault.struck == 0, aborted
        assert name not in tools.transactions("find-hanging", *place).out
