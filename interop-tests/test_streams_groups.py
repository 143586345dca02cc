"""Streams groups of KIP-1071: Kafka Streams 4.3 with `group.protocol=streams`, the tools of Kafka 4.3 beside
a real one, and groups that move between kcompat and a real one with their data directory.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from differential.play import Play
from differential.scenarios.streams_groups import (
    BEAT,
    LEAVE,
    going_on,
    joining,
    owning,
    subtopology,
    topic_info,
    until_stable,
)
from drivers.confluent import Confluent
from kcompat.protocol.api_keys import ApiKey
from real_kafka import RealKafka
from support.eventually import eventually
from support.kcompat_broker import KcompatBroker
from tool_bench import insist_on_tools, side_by_side
from word_count import PATIENCE_S, WordCount, libs, restored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

VERSION = "4.3.0"
AT_ONCE = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
}
QUICK_GROUPS = {
    **AT_ONCE,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.num.standby.replicas": "1",
}

BEFORE = """
topics --create --topic s1 --partitions 2
console-producer --topic s1 PARSE
streams-groups --list
streams-groups --describe --group nothere
configs --alter --group sg --add-config streams.num.standby.replicas=1
configs --describe --group sg
"""
WITH_MEMBERS = """
streams-groups --list
streams-groups --list --state
streams-groups --list --state stable
streams-groups --list --state empty
all-groups --list
all-groups --list --streams
streams-groups --describe --group sg
streams-groups --describe --group sg --offsets --verbose
streams-groups --describe --group sg --members
streams-groups --describe --group sg --members --verbose
streams-groups --describe --group sg --state
streams-groups --describe --group sg --state --verbose
streams-groups --describe --all-groups
streams-groups --reset-offsets --group sg --all-input-topics --to-latest --dry-run
streams-groups --delete-offsets --group sg --input-topic s1
streams-groups --delete --group sg
groups --describe --group sg
"""
AFTERWARDS = """
streams-groups --list --state
streams-groups --describe --group sg --members
streams-groups --reset-offsets --group sg --input-topic s1 --to-latest --dry-run
streams-groups --reset-offsets --group sg --input-topic s1 --to-latest --execute
streams-groups --describe --group sg --offsets
streams-groups --reset-offsets --group sg --input-topic s1:0 --to-earliest --execute
streams-groups --describe --group sg --offsets
streams-groups --delete-offsets --group sg --input-topic s1:1
streams-groups --delete-offsets --group sg --input-topic nothere
streams-groups --describe --group sg --offsets
streams-groups --delete-offsets --group sg --all-input-topics
streams-groups --delete --group sg --group nothere
streams-groups --list
topics --list
"""


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    with RealKafka(VERSION) as kafka:
        yield kafka


class Member:
    """A member of the group `sg`, whose topology keeps state, at one broker."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._play = Play(broker.port, "sg")
        log = topic_info("sg-store-changelog", cleanup_policy="compact")
        joined = self._play.do(
            BEAT, 0, **joining("sg", "m", subtopology("0", "s1", state_changelog_topics=[log]))
        )
        assert not joined.error_code, joined
        self.epoch = until_stable(self._play, "sg", "m", joined.member_epoch)
        self.go_on()

    def go_on(self) -> None:
        """Heartbeat with all tasks."""
        told = self._play.do(BEAT, 0, **going_on("sg", "m", self.epoch, **owning(a0=[0, 1])))
        assert not told.error_code, told

    def commit(self) -> None:
        """Commit an offset of each partition."""
        rows = [{"partition_index": index, "committed_offset": 5} for index in (0, 1)]
        who = {"group_id": "sg", "member_id": "m", "generation_id_or_member_epoch": self.epoch}
        answer = self._play.do(ApiKey.OFFSET_COMMIT, 9, **who, topics=[{"name": "s1", "partitions": rows}])
        assert not any(row.error_code for row in answer.topics[0].partitions), answer

    def leave(self) -> None:
        """Leave the group."""
        self._play.do(BEAT, 0, **going_on("sg", "m", LEAVE))
        self._play.close()


@pytest.mark.thorough("the differential test has the requests of the tools")
def test_the_tools_print_the_same(kafka: RealKafka, tmp_path: Path) -> None:
    insist_on_tools()
    with ExitStack() as running:
        ours = running.enter_context(KcompatBroker({"broker.id": "1", **AT_ONCE}))
        benches = running.enter_context(side_by_side(VERSION, {1: ours}, {1: kafka}, {}, tmp_path))
        benches.compare(BEFORE)
        members = [Member(broker) for broker in (ours, kafka)]
        for member in members:
            member.commit()
        for line in WITH_MEMBERS.strip().splitlines():
            for member in members:
                member.go_on()
            benches.compare(line)
        for member in members:
            member.leave()
        benches.compare(AFTERWARDS)


def test_words_are_counted_whoever_is_killed(
    request: pytest.FixtureRequest, name: str, tmp_path: Path
) -> None:
    """Exactly once, with a standby of each store, through the death of a member and of the broker."""
    if shutil.which("javac") is None or not libs(VERSION).is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    settings = ["processing.guarantee=exactly_once_v2", "group.protocol=streams"]
    with ExitStack() as running:
        is_ours = request.config.getoption("--target") == "kcompat"
        made = KcompatBroker(QUICK_GROUPS) if is_ours else RealKafka(VERSION, QUICK_GROUPS)
        broker: BrokerProcess = running.enter_context(made)
        driver = running.enter_context(closing(Confluent(broker.bootstrap)))
        words = WordCount(broker, driver, name, tmp_path, VERSION)
        words.feed(200)
        first = running.enter_context(words.instance("first", *settings))
        words.counts_on()
        second = running.enter_context(words.instance("second", *settings))
        eventually(lambda: restored(second) > 0, "a task with its state has moved", PATIENCE_S)
        words.counts_on()
        first.kill()
        words.counts_on()
        broker.kill()
        broker.start()
        words.feed(200)
        words.has_counted(PATIENCE_S)
        assert words.config("counts-changelog", "cleanup.policy") == "compact"
