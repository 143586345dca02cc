"""kcat from Debian: a librdkafka 2.0 behind a command line."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from commands import Running, run
from contract import BATCH_OVERHEAD
from support.eventually import eventually, limit_s

if TYPE_CHECKING:
    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.skipif(
    shutil.which("kcat") is None, reason="kcat is not there: apt-get install kcat"
)

QUICK = ["-X", "session.timeout.ms=6000", "-X", "auto.offset.reset=earliest"]


def kcat(broker: BrokerProcess, *arguments: str, text: str = "") -> str:
    return run(["kcat", "-b", broker.bootstrap, "-q", *arguments], text.encode())


def produce(broker: BrokerProcess, topic: str, text: str, *arguments: str) -> None:
    kcat(broker, "-P", "-t", topic, *arguments, text=text)


def consume(broker: BrokerProcess, topic: str, *arguments: str) -> list[dict]:
    out = kcat(broker, "-C", "-t", topic, "-e", "-J", *arguments)
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_come_back_by_assignment(broker, name, codec):
    lines = [f"key {n}:value {n} {'x' * 50}" for n in range(200)]
    produce(broker, name, "\n".join(lines), "-p", "0", "-K", ":", "-X", f"compression.codec={codec}")
    got = consume(broker, name, "-p", "0", "-o", "beginning")
    assert [f"{r['key']}:{r['payload']}" for r in got] == lines
    assert [r["offset"] for r in got] == list(range(200))


def test_reading_starts_at_the_offset_asked_for(broker, name):
    produce(broker, name, "\n".join("abcdefgh"), "-p", "0")
    assert [r["payload"] for r in consume(broker, name, "-p", "0", "-o", "5")] == ["f", "g", "h"]
    assert [r["payload"] for r in consume(broker, name, "-p", "0", "-o", "-2")] == ["g", "h"]


def test_null_keys_and_values_and_headers(broker, name):
    produce(broker, name, "k:\n:v\n", "-p", "0", "-K", ":", "-Z", "-H", "a=1", "-H", "b=two")
    first, second = consume(broker, name, "-p", "0", "-o", "beginning")
    assert (first["key"], first["payload"]) == ("k", None)
    assert (second["key"], second["payload"]) == (None, "v")
    assert first["headers"] == second["headers"] == ["a", "1", "b", "two"]


def test_metadata_lists_topics_and_brokers(broker, name):
    produce(broker, name, "x", "-p", "0")
    listed = json.loads(kcat(broker, "-L", "-J"))
    assert [b["name"] for b in listed["brokers"]] == [broker.bootstrap]
    assert name in [topic["topic"] for topic in listed["topics"]]


def test_offsets_are_looked_up_by_time(broker, name):
    produce(broker, name, "one\ntwo\n", "-p", "0")
    first, _ = consume(broker, name, "-p", "0", "-o", "beginning")
    assert kcat(broker, "-Q", "-t", f"{name}:0:{first['ts']}").strip() == f"{name} [0] offset 0"
    assert kcat(broker, "-Q", "-t", f"{name}:0:{first['ts'] + 3_600_000}").strip() == f"{name} [0] offset -1"


def test_a_group_resumes_where_it_stopped(broker, name):
    produce(broker, name, "\n".join(map(str, range(10))), "-p", "0")
    first = kcat(broker, "-c", "6", *QUICK, "-G", name, name).split()
    second = kcat(broker, "-c", "4", *QUICK, "-G", name, name).split()
    assert first + second == [str(n) for n in range(10)]


def test_two_members_share_the_partitions(broker, name):
    command = ["kcat", "-b", broker.bootstrap, "-u", "-f", "%p %s\\n", *QUICK, "-G", name, name]

    def rebalances(member: Running) -> list[str]:
        return [line for line in member.lines() if "assigned" in line or "rebalanced" in line]

    run_topic_creation(broker, name, partitions=2)
    with Running(command) as first:
        eventually(
            lambda: any("[1]" in line for line in rebalances(first)), "the first member owns partition 1"
        )
        with Running(command) as second:
            eventually(lambda: len(rebalances(second)) > 0, "the second member has an assignment")
            for partition in ("0", "1"):
                produce(broker, name, f"to {partition}", "-p", partition)
            eventually(
                lambda: both(first, second) == ["0 to 0", "1 to 1"], "each record arrives at one member"
            )
            assert first.count(is_record) == second.count(is_record) == 1


def is_record(line: str) -> bool:
    return line[:1] in ("0", "1") and " to " in line


def both(first: Running, second: Running) -> list[str]:
    return sorted(line for member in (first, second) for line in member.lines() if is_record(line))


def run_topic_creation(broker: BrokerProcess, topic: str, partitions: int, **configs: str) -> None:
    """kcat has no admin calls: confluent-kafka creates the topic."""
    from drivers.confluent import Confluent

    driver = Confluent(broker.bootstrap)
    driver.create_topic(topic, partitions, configs)
    driver.close()


def test_a_batch_at_the_limit_is_taken_and_one_over_it_is_not(broker, name):
    run_topic_creation(broker, name, 1, **{"max.message.bytes": "2000"})
    at_limit = "x" * (2000 - BATCH_OVERHEAD)
    produce(broker, name, at_limit, "-p", "0")
    command = ["kcat", "-b", broker.bootstrap, "-P", "-t", name, "-p", "0"]
    refused = subprocess.run(
        command, input=at_limit.encode() + b"x", capture_output=True, timeout=limit_s(60), check=False
    )
    assert refused.returncode != 0
    assert b"Message size too large" in refused.stderr
    assert [r["payload"] for r in consume(broker, name, "-p", "0", "-o", "beginning")] == [at_limit]
