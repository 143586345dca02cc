"""The Java client of Kafka 3.9 and 4.3, through the tools that come with it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from commands import Running, run
from contract import BATCH_OVERHEAD
from support.eventually import eventually, limit_s
from support.kafka_jars import jvm
from support.places import CACHE
from tools_jvm import Ended, ToolsJvm, compile_runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from support.broker_process import BrokerProcess


TOPICS = "org.apache.kafka.tools.TopicCommand"


@dataclass(frozen=True)
class Release:
    """Where one release keeps its tools, and what it calls their options."""

    version: str
    console_producer: str
    reader_property: str
    formatter_property: str
    api_versions: str


RELEASES = (
    Release(
        "3.9.2",
        "kafka.tools.ConsoleProducer",
        "--property",
        "--property",
        "kafka.admin.BrokerApiVersionsCommand",
    ),
    Release(
        "4.3.0",
        "org.apache.kafka.tools.ConsoleProducer",
        "--reader-property",
        "--formatter-property",
        "org.apache.kafka.tools.BrokerApiVersionsCommand",
    ),
)


@dataclass(frozen=True)
class Tools:
    """The tools of one release against one broker; all run in one JVM but the verifiable ones."""

    release: Release
    bootstrap: str
    jvm: ToolsJvm

    def ended(self, main_class: str, *arguments: str, text: str = "") -> Ended:
        return self.jvm.run(
            main_class, ["--bootstrap-server", self.bootstrap, *arguments], text, timeout_s=60
        )

    def run(self, main_class: str, *arguments: str, text: str = "") -> str:
        ended = self.ended(main_class, *arguments, text=text)
        assert ended.code == "0", ended
        return ended.out

    def command(self, main_class: str, *arguments: str) -> list[str]:
        return [*jvm(self.release.version), main_class, "--bootstrap-server", self.bootstrap, *arguments]

    def topics(self, *arguments: str) -> str:
        return self.run(TOPICS, *arguments)

    def configs(self, *arguments: str) -> str:
        return self.run("kafka.admin.ConfigCommand", *arguments)

    def groups(self, *arguments: str) -> str:
        return self.run("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", *arguments)

    def produce(self, topic: str, lines: Sequence[str], *arguments: str) -> None:
        text = "".join(f"{line}\n" for line in lines)
        self.run(self.release.console_producer, "--topic", topic, *arguments, text=text)

    def consume(self, topic: str, count: int, *arguments: str) -> list[str]:
        limits = ["--max-messages", str(count), "--timeout-ms", "20000"]
        shown = [
            item
            for what in ("partition", "offset", "key", "headers")
            for item in (self.release.formatter_property, f"print.{what}=true")
        ]
        main_class = "org.apache.kafka.tools.consumer.ConsoleConsumer"
        return self.run(main_class, "--topic", topic, *limits, *shown, *arguments).splitlines()

    def verifiable_produce(self, topic: str, count: int) -> None:
        main_class = "org.apache.kafka.tools.VerifiableProducer"
        out = run(self.command(main_class, "--topic", topic, "--max-messages", str(count), "--acks", "-1"))
        summary = json.loads(out.splitlines()[-1])
        assert (summary["sent"], summary["acked"]) == (count, count)

    def verifiable_consumer(self, topic: str, group: str, *protocol: str) -> list[str]:
        """`protocol` says which group protocol it speaks: the session timeout is set by a classic member."""
        main_class = "org.apache.kafka.tools.VerifiableConsumer"
        arguments = [
            "--topic",
            topic,
            "--group-id",
            group,
            "--reset-policy",
            "earliest",
            *(protocol or ("--session-timeout", "6000")),
        ]
        return self.command(main_class, *arguments)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(RELEASES[0], marks=pytest.mark.thorough("the next release has the same clients")),
        *RELEASES[1:],
    ],
    ids=lambda release: release.version,
)
def release_tools(
    request: pytest.FixtureRequest, session_broker: BrokerProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tools]:
    release: Release = request.param
    if shutil.which("javac") is None or not (CACHE / f"kafka-{release.version}" / "libs").is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    runner = tmp_path_factory.mktemp(f"tools-{release.version}")
    compile_runner(release.version, runner)
    with closing(ToolsJvm(release.version, runner)) as jvm:
        yield Tools(release, session_broker.bootstrap, jvm)


@pytest.fixture
def tools(release_tools: Tools, broker: BrokerProcess) -> Tools:
    """With a look at the broker after the test."""
    return release_tools


def events(member: Running, name: str) -> list[dict]:
    """Return the events with this name that a VerifiableConsumer has printed about itself."""
    said = [json.loads(line) for line in member.lines() if line.startswith("{")]
    return [event for event in said if event["name"] == name]


def owned(member: Running) -> set[int]:
    """The partitions of the member's last assignment."""
    assignments = events(member, "partitions_assigned")
    revocations = events(member, "partitions_revoked")
    if not assignments or len(revocations) >= len(assignments):
        return set()
    return {entry["partition"] for entry in assignments[-1]["partitions"]}


def consumed(member: Running) -> int:
    return sum(event["count"] for event in events(member, "records_consumed"))


def test_the_console_tools_with_every_codec(tools, name):
    tools.topics("--create", "--topic", name, "--partitions", "1")
    sent = []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        lines = [f"{codec} {n} {'x' * 40}" for n in range(20)]
        tools.produce(name, lines, "--compression-codec", codec)
        sent += lines
    got = tools.consume(name, len(sent), "--partition", "0", "--offset", "earliest")
    assert got == [f"Partition:0\tOffset:{n}\tNO_HEADERS\tnull\t{line}" for n, line in enumerate(sent)]
    assert tools.consume(name, 2, "--partition", "0", "--offset", "98") == got[98:]


def test_null_keys_and_values_and_headers(tools, name):
    prop = tools.release.reader_property
    parse = [
        item for what in ("parse.key=true", "parse.headers=true", "null.marker=NIL") for item in (prop, what)
    ]
    tools.produce(name, ["a:1,b:2\tkey\tvalue", "NIL\tNIL\tonly value", "NIL\tonly key\tNIL"], *parse)
    assert tools.consume(name, 3, "--from-beginning") == [
        "Partition:0\tOffset:0\ta:1,b:2\tkey\tvalue",
        "Partition:0\tOffset:1\tNO_HEADERS\tnull\tonly value",
        "Partition:0\tOffset:2\tNO_HEADERS\tonly key\tnull",
    ]


def test_kafka_topics(tools, name):
    assert f"Created topic {name}." in tools.topics(
        "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=7777777"
    )
    again = tools.ended(TOPICS, "--create", "--topic", name)
    assert again.code == "1"
    assert "already exists" in again.out + again.err
    assert name in tools.topics("--list").split()
    described = tools.topics("--describe", "--topic", name)
    assert "PartitionCount: 2" in described
    assert "Configs: retention.ms=7777777" in described
    tools.topics("--alter", "--topic", name, "--partitions", "4")
    assert "PartitionCount: 4" in tools.topics("--describe", "--topic", name)
    tools.topics("--delete", "--topic", name)
    assert name not in tools.topics("--list").split()


def test_kafka_configs(tools, name):
    tools.topics("--create", "--topic", name)
    topic = ("--entity-type", "topics", "--entity-name", name)
    tools.configs("--alter", *topic, "--add-config", "segment.bytes=1048576,cleanup.policy=[compact,delete]")
    described = tools.configs("--describe", *topic)
    assert "segment.bytes=1048576" in described
    assert "cleanup.policy=compact,delete" in described
    tools.configs("--alter", *topic, "--delete-config", "segment.bytes")
    assert "segment.bytes=1048576" not in tools.configs("--describe", *topic)
    assert "max.message.bytes=1048588" in tools.configs("--describe", *topic, "--all")


def test_groups_share_commit_and_resume(tools, name):
    tools.topics("--create", "--topic", name, "--partitions", "4")
    command = tools.verifiable_consumer(name, name)
    with Running(command) as first:
        eventually(lambda: owned(first) == {0, 1, 2, 3}, "the first member owns all partitions")
        with Running(command) as second:
            eventually(
                lambda: (
                    len(owned(first)) == len(owned(second)) == 2 and len(owned(first) | owned(second)) == 4
                ),
                "the members share the partitions",
            )
            tools.verifiable_produce(name, 200)
            eventually(lambda: consumed(first) + consumed(second) == 200, "every record has arrived")
            assert "Stable" in tools.groups("--describe", "--group", name, "--state")
            assert len(tools.groups("--describe", "--group", name, "--members").strip().splitlines()) == 3
        eventually(lambda: owned(first) == {0, 1, 2, 3}, "the first member owns all partitions again")
    tools.verifiable_produce(name, 10)
    with Running(command) as third:
        eventually(lambda: consumed(third) >= 10, "the third member has the rest")
        eventually(lambda: lag(tools, name) == 0, "the group has no lag")
        assert consumed(third) == 10


def held(member: Running) -> set[int]:
    """The partitions of a member that is told only what is new (KIP-848)."""
    partitions: set[int] = set()
    for line in member.lines():
        event = json.loads(line) if line.startswith("{") else {}
        rows = {row["partition"] for row in event.get("partitions", ()) if isinstance(row, dict)}
        if event.get("name") == "partitions_assigned":
            partitions |= rows
        elif event.get("name") == "partitions_revoked":
            partitions -= rows
    return partitions


def test_groups_that_the_broker_assigns(tools, name):
    tools.topics("--create", "--topic", name, "--partitions", "4")
    command = tools.verifiable_consumer(name, name, "--group-protocol", "consumer")
    with Running(command) as first, Running(command) as second:
        eventually(
            lambda: len(held(first)) == len(held(second)) == 2 and held(first) | held(second) == {0, 1, 2, 3},
            "the members share the partitions",
            timeout_s=90,
        )
        tools.verifiable_produce(name, 200)
        eventually(lambda: consumed(first) + consumed(second) == 200, "every record has arrived", 60)
        assert "Stable" in tools.groups("--describe", "--group", name, "--state")
        assert len(tools.groups("--describe", "--group", name, "--members").strip().splitlines()) == 3
        assert re.search(rf"{name}\s+Consumer", tools.groups("--list", "--type"))
        eventually(lambda: lag(tools, name) == 0, "the group has no lag", 60)


def test_a_group_goes_over_to_the_other_protocol_and_back(tools, name):
    """Its consumers are restarted one by one, as in a deployment: nothing is lost, nobody waits for long."""
    tools.topics("--create", "--topic", name, "--partitions", "4")
    classic = tools.verifiable_consumer(name, name)
    modern = tools.verifiable_consumer(name, name, "--group-protocol", "consumer")

    def share(*members: Running) -> None:
        def each_has_some() -> bool:
            shares = [held(member) for member in members]
            return all(shares) and sorted(chain(*shares)) == [0, 1, 2, 3]

        eventually(each_has_some, "the members share the partitions", timeout_s=90)

    def kind() -> str:
        found = re.search(rf"{name}\s+(\w+)", tools.groups("--list", "--type"))
        assert found is not None
        return found[1]

    with Running(classic) as first:
        share(first)
        tools.verifiable_produce(name, 100)
        eventually(lambda: consumed(first) == 100, "every record has arrived", 60)
        assert kind() == "Classic"
        with Running(modern) as second:
            share(first, second)
            assert kind() == "Consumer"
            assert len(tools.groups("--describe", "--group", name, "--members").strip().splitlines()) == 3
            tools.verifiable_produce(name, 100)
            eventually(lambda: consumed(first) + consumed(second) == 200, "every record has arrived", 60)
        share(first)
        assert kind() == "Classic"
    eventually(lambda: lag(tools, name) == 0, "the group has no lag", 60)


def lag(tools: Tools, group: str) -> int:
    """Return the lag in kafka-consumer-groups: end offsets less committed offsets, none counted as 0."""
    rows = [line.split() for line in tools.groups("--describe", "--group", group).splitlines()]
    offsets = [(row[3], row[4]) for row in rows if row[:1] == [group]]
    return sum(int(end) - (0 if committed == "-" else int(committed)) for committed, end in offsets)


def test_kafka_consumer_groups(tools, name):
    tools.produce(name, [str(n) for n in range(10)])
    tools.consume(name, 10, "--from-beginning", "--group", name)
    assert name in tools.groups("--list").split()
    assert lag(tools, name) == 0
    reset = ("--reset-offsets", "--group", name, "--topic", name, "--to-offset", "4", "--execute")
    tools.groups(*reset)
    assert lag(tools, name) == 6
    assert len(tools.consume(name, 6, "--group", name)) == 6
    tools.groups("--delete", "--group", name)
    assert name not in tools.groups("--list").split()


def test_a_batch_at_the_limit_is_taken_and_one_over_it_is_not(tools, name):
    tools.topics("--create", "--topic", name, "--config", "max.message.bytes=2000")
    at_limit = "x" * (2000 - BATCH_OVERHEAD)
    tools.produce(name, [at_limit])
    command = tools.command(tools.release.console_producer, "--topic", name, "--sync")
    refused = subprocess.run(
        command, input=f"{at_limit}x\n".encode(), capture_output=True, timeout=limit_s(60), check=False
    )
    assert b"RecordTooLargeException" in refused.stdout + refused.stderr
    assert tools.consume(name, 1, "--from-beginning") == [
        f"Partition:0\tOffset:0\tNO_HEADERS\tnull\t{at_limit}"
    ]


def test_other_tools(tools, name, tmp_path):
    tools.topics("--create", "--topic", name, "--partitions", "1")
    tools.produce(name, [str(n) for n in range(10)])

    def offset(time: str) -> str:
        main_class = "org.apache.kafka.tools.GetOffsetShell"
        return tools.run(main_class, "--topic", name, "--time", time).strip()

    assert offset("latest") == f"{name}:0:10"
    assert offset("max-timestamp").startswith(f"{name}:0:")
    wanted = tmp_path / "records.json"
    wanted.write_text(
        json.dumps({"partitions": [{"topic": name, "partition": 0, "offset": 4}], "version": 1})
    )
    main_class = "org.apache.kafka.tools.DeleteRecordsCommand"
    deleted = tools.run(main_class, "--offset-json-file", str(wanted))
    assert f"{name}-0\tlow_watermark: 4" in deleted
    assert offset("earliest") == f"{name}:0:4"
    described = tools.run("org.apache.kafka.tools.LogDirsCommand", "--describe", "--topic-list", name)
    (broker,) = json.loads(described.splitlines()[-1])["brokers"]
    assert [row["partition"] for row in broker["logDirs"][0]["partitions"]] == [f"{name}-0"]
    served = tools.run(tools.release.api_versions)
    assert "Produce(0): " in served
    assert tools.bootstrap.split(":")[1] in served
