"""The high-level consumer of 0.8.2, which knows ZooKeeper alone.

It finds brokers, topics and the members of its group there, and keeps its offsets there, or in Kafka.
"""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaProducer
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from commands import QUICK_JVM, Running
from support.kafka_jars import class_path
from support.raw_client import RawClient
from support.raw_requests import committed_offset, create_topic, find_coordinator
from support.zookeeper_broker import ZooKeeperBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

PARTITIONS = 4
VALUE = re.compile(r"[abc]-\d+")
TIMEOUT_S = 40


@pytest.fixture(scope="module")
def broker() -> Iterator[ZooKeeperBroker]:
    with ZooKeeperBroker() as broker:
        yield broker


@pytest.fixture(scope="module")
def zookeeper(broker: ZooKeeperBroker) -> Iterator[KazooClient]:
    client = KazooClient("{}:{}".format(*broker.zookeeper))
    client.start()
    yield client
    client.stop()
    client.close()


def consumer(
    broker: ZooKeeperBroker, directory: Path, group: str, *options: str, storage: Sequence[str] = ()
) -> Running:
    properties = directory / f"{group}.properties"
    settings = (
        "auto.commit.interval.ms=200",
        "zookeeper.session.timeout.ms=4000",
        "rebalance.backoff.ms=500",
    )
    properties.write_text("\n".join((f"group.id={group}", *settings, *storage)))
    command = [*QUICK_JVM, "-cp", class_path("0.8.2.2"), "kafka.tools.ConsoleConsumer", "--topic", group]
    command += ["--zookeeper", "{}:{}".format(*broker.zookeeper), *options]
    return Running([*command, "--consumer.config", properties])


def owners(zookeeper: KazooClient, group: str) -> list[bytes]:
    """Who owns each partition that has an owner."""
    path = f"/consumers/{group}/owners/{group}"
    try:
        return [zookeeper.get(f"{path}/{name}")[0] for name in zookeeper.get_children(path)]
    except NoNodeError:
        return []


def offsets_in_zookeeper(zookeeper: KazooClient, group: str) -> set[int | None]:
    """Those of the partitions of its topic; None where there is none."""
    paths = [f"/consumers/{group}/offsets/{group}/{number}" for number in range(PARTITIONS)]
    return {int(zookeeper.get(path)[0]) if zookeeper.exists(path) else None for path in paths}


def offsets_in_kafka(broker: ZooKeeperBroker, group: str) -> set[int]:
    """Those of the partitions of its topic; -1 where there is none."""
    with RawClient(("127.0.0.1", broker.port)) as raw:
        rows = [committed_offset(raw, group, group, number) for number in range(PARTITIONS)]
    return {row.committed_offset for row in rows}


def until(condition: Callable[[], bool], *consumers: Running) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, [each.lines()[-5:] for each in consumers]
        time.sleep(0.1)


def produce(broker: ZooKeeperBroker, topic: str, prefix: str) -> set[str]:
    values = {f"{prefix}-{number}" for number in range(40)}
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for number, value in enumerate(sorted(values)):
            producer.send(topic, value.encode(), partition=number % PARTITIONS)
        producer.flush(20)
    return values


@pytest.mark.parametrize("accident", [False, True])
def test_members_share_partitions_and_take_over_from_each_other(
    accident: bool, broker: ZooKeeperBroker, zookeeper: KazooClient, tmp_path: Path
) -> None:
    group = f"group-{accident}"
    with RawClient(("127.0.0.1", broker.port)) as raw:
        assert create_topic(raw, group, partitions=PARTITIONS) == 0
    with ExitStack() as stack:
        first = stack.enter_context(consumer(broker, tmp_path, group, "--from-beginning"))
        consumers = [first]

        def seen() -> list[str]:
            lines = [line for each in consumers for line in each.lines()]
            return [line for line in lines if VALUE.fullmatch(line)]

        def are_committed(count: int) -> bool:
            return offsets_in_zookeeper(zookeeper, group) == {count}

        def are_shared_by(members: int) -> bool:
            owned = owners(zookeeper, group)
            return len(owned) == PARTITIONS and len(set(owned)) == members

        until(lambda: are_shared_by(1), *consumers)
        values = produce(broker, group, "a")
        until(lambda: are_committed(10), *consumers)

        second = stack.enter_context(consumer(broker, tmp_path, group))
        consumers.append(second)
        until(lambda: are_shared_by(2), *consumers)
        values |= produce(broker, group, "b")
        until(lambda: are_committed(20), *consumers)

        if accident:
            first.kill()
        else:
            first.end()
        until(lambda: are_shared_by(1), *consumers)
        values |= produce(broker, group, "c")
        until(lambda: are_committed(30), *consumers)
        assert sorted(seen()) == sorted(values), "each record once"
    until(lambda: zookeeper.get_children(f"/consumers/{group}/ids") == [])


def test_offsets_move_from_zookeeper_to_kafka_as_the_manual_says(
    broker: ZooKeeperBroker, zookeeper: KazooClient, tmp_path: Path
) -> None:
    """First to Kafka and to ZooKeeper (`dual.commit.enabled`), then to Kafka alone."""
    group = "moving"
    with RawClient(("127.0.0.1", broker.port)) as raw:
        assert create_topic(raw, group, partitions=PARTITIONS) == 0
        assert find_coordinator(raw, group) == 0
    in_kafka = "offsets.storage=kafka"
    steps = [
        ("a", ["--from-beginning"], ["offsets.storage=zookeeper"], {10}, {-1}),
        ("b", [], [in_kafka, "dual.commit.enabled=true"], {20}, {20}),
        ("c", [], [in_kafka, "dual.commit.enabled=false"], {20}, {30}),
    ]
    for prefix, options, storage, at_zookeeper, at_kafka in steps:
        values = produce(broker, group, prefix)
        with consumer(broker, tmp_path, group, *options, storage=storage) as running:
            until(
                lambda: (
                    offsets_in_zookeeper(zookeeper, group) == at_zookeeper  # noqa: B023 - called at once
                    and offsets_in_kafka(broker, group) == at_kafka  # noqa: B023
                ),
                running,
            )
            seen = [line for line in running.lines() if VALUE.fullmatch(line)]
            running.end()
        assert sorted(seen) == sorted(values), "what was not read yet, each record once"
