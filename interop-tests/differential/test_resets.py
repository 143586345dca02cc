"""A broker that goes back to its start or to a mark, against a fresh one with the same seed data.

Any scenario may have been played in between, with its clients still connected and their requests waiting.
Afterwards both have the same inventory of all that clients can read, and give a scenario the same answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, precondition, rule

from differential import inventory, members, transactions
from differential.catalogue import SCENARIOS
from differential.compare import differences
from differential.play import Play, batch
from differential.scenarios import load_all
from kcompat import Broker
from kcompat.protocol.api_keys import ApiKey
from support.fuzzing import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from differential.play import Step
    from kcompat.instrumentation.snapshots import Snapshot

CONFIG = {
    "broker.id": 1,
    "group.min.session.timeout.ms": 50,
    "log.retention.ms": -1,
    "group.share.assignment.interval.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.initial.rebalance.delay.ms": 0,
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
}
load_all()
BY_NAME = {played.name: played for played in SCENARIOS}


# Seed data: the same on each broker that gets it, without members that would be gone after a restart


def records(play: Play) -> None:
    topic = play.topic(partitions=2, segment_bytes="1000", cleanup_policy="delete")
    for index in range(3):
        play.append(topic, b"x" * 400, b"%d" % index, partition=index % 2)
    wanted = [{"partition_index": 0, "offset": 1}]
    play.do(ApiKey.DELETE_RECORDS, 1, topics=[{"name": topic, "partitions": wanted}], timeout_ms=5000)


def producers(play: Play) -> None:
    topic = play.topic()
    made = play.do(ApiKey.INIT_PRODUCER_ID, 3, transactional_id=None, transaction_timeout_ms=1000)
    identity = {"producer_id": made.producer_id, "producer_epoch": made.producer_epoch}
    play.append_batch(topic, batch(b"1", b"2", base_sequence=0, **identity))


def ended_transactions(play: Play) -> None:
    topic = play.topic()
    for name, commits in (("committed", True), ("aborted", False)):
        who = transactions.begun(play, play.name(name))
        transactions.write(play, who, topic, name.encode())
        play.do(ApiKey.END_TXN, 3, committed=commits, **who.fields)
        transactions.over(play, who.name)


def open_transaction(play: Play) -> None:
    topic = play.topic()
    transactions.write(play, transactions.begun(play, play.name("open")), topic, b"1")


def commits(play: Play) -> None:
    topic, group = play.topic(), play.name("g")
    members.ready(play)
    rows = [{"partition_index": 0, "committed_offset": 5, "committed_metadata": "five"}]
    play.do(ApiKey.OFFSET_COMMIT, 7, group_id=group, topics=[{"name": topic, "partitions": rows}])


def settings_of_all_kinds(play: Play) -> None:
    topic = play.topic()
    play.do(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, 1,
        resources=[
            {
                "resource_type": kind, "resource_name": name,
                "configs": [{"name": key, "config_operation": 0, "value": value}],
            }
            for kind, name, key, value in (
                (inventory.TOPIC, topic, "max.message.bytes", "2000"),
                (inventory.BROKER, "1", "log.cleaner.threads", "2"),
                (inventory.BROKER, "", "message.max.bytes", "900000"),
            )
        ],
    )  # fmt: skip
    quota = {"key": "consumer_byte_rate", "value": 1e9, "remove": False}
    entity = [{"entity_type": "client-id", "entity_name": play.name()}]
    play.do(ApiKey.ALTER_CLIENT_QUOTAS, 1, entries=[{"entity": entity, "ops": [quota]}])
    upsertion = {
        "name": "alice",
        "mechanism": 1,
        "iterations": 4096,
        "salt": b"s",
        "salted_password": b"p" * 32,
    }
    play.do(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, upsertions=[upsertion])
    acl = {
        "resource_type": 2, "resource_name": topic, "resource_pattern_type": 3,
        "principal": "User:alice", "host": "*", "operation": 3, "permission_type": 3,
    }  # fmt: skip
    play.do(ApiKey.CREATE_ACLS, 3, creations=[acl])


def deletions(play: Play) -> None:
    first, second = play.topic("one"), play.topic("two")
    play.append(first, b"1")
    play.do(ApiKey.DELETE_TOPICS, 5, topic_names=[first], timeout_ms=5000)
    more = {"name": second, "count": 3, "assignments": None}
    play.do(ApiKey.CREATE_PARTITIONS, 2, topics=[more], timeout_ms=5000)
    play.await_topic(second, 3)


SEEDS: dict[str, Callable[[Play], None]] = {
    each.__name__: each
    for each in (
        records, producers, ended_transactions, open_transaction, commits, settings_of_all_kinds, deletions
    )
}  # fmt: skip

Seeding = tuple[str, int]
"""Name of a seed and a number, which its names have."""


class Mark(NamedTuple):
    snapshot: Snapshot
    seeded: list[Seeding]


def port_of(broker: Broker) -> int:
    return int(broker.bootstrap_servers.rpartition(":")[2])


def seed(broker: Broker, seeding: Seeding) -> None:
    name, number = seeding
    play = Play(port_of(broker), f"{name}-{number}")
    SEEDS[name](play)
    play.close()


def answers(broker: Broker, scenario: str) -> list[Step]:
    """The inventory, the transcript of a scenario, and the inventory after it."""
    played = BY_NAME[scenario]
    stage = Play(port_of(broker), played.name)
    inventory.take(stage)
    played.scene(stage, max(played.versions))
    stage.close()
    return stage.transcript


class Resets(RuleBasedStateMachine):
    """`used` is the broker that goes back; `seeded` is what it has, unless it `is_disturbed`."""

    marks: Bundle[Mark] = Bundle("marks")

    def __init__(self) -> None:
        super().__init__()
        self.used = Broker(config=CONFIG).start()
        self.stages: list[Play] = []
        self.seeded: list[Seeding] = []
        self.is_disturbed = False
        self.number = 0

    def teardown(self) -> None:
        for stage in self.stages:
            stage.close()
        self.used.stop()

    @precondition(lambda self: not self.is_disturbed)
    @rule(name=st.sampled_from(sorted(SEEDS)))
    def fill(self, name: str) -> None:
        self.number += 1
        self.seeded.append((name, self.number))
        seed(self.used, self.seeded[-1])

    @rule(names=st.lists(st.sampled_from(sorted(BY_NAME)), min_size=1, max_size=3), leaves=st.booleans())
    def disturb(self, names: list[str], leaves: bool) -> None:
        self.is_disturbed = True
        for name in names:
            self.number += 1
            stage = Play(port_of(self.used), f"{name}-{self.number}")
            BY_NAME[name].scene(stage, max(BY_NAME[name].versions))
            if leaves:
                stage.close()
            else:
                self.stages.append(stage)

    @rule()
    def wait(self) -> None:
        """Leave a fetch, a join and a produce in a transaction that all wait for more."""
        self.is_disturbed = True
        self.number += 1
        stage = Play(port_of(self.used), f"waiting-{self.number}")
        self.stages.append(stage)
        topic = stage.topic()
        rows = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}]
        wanted = [{"topic": topic, "partitions": rows}]
        stage.send(
            ApiKey.FETCH, 12, on="fetch", replica_id=-1, max_wait_ms=600_000, min_bytes=1, topics=wanted
        )
        members.stable(stage, stage.name("g"))
        stage.send(ApiKey.JOIN_GROUP, 3, on="join", **members.joining(stage.name("g")))
        transactions.write(stage, transactions.begun(stage, stage.name("open")), topic, b"1")

    @precondition(lambda self: not self.is_disturbed)
    @rule(target=marks)
    def mark(self) -> Mark:
        return Mark(self.used.snapshot(), list(self.seeded))

    @rule(mark=marks, scenario=st.sampled_from(sorted(BY_NAME)))
    def restore(self, mark: Mark, scenario: str) -> None:
        self.used.restore(mark.snapshot)
        self.seeded = list(mark.seeded)
        self.compare(scenario)

    @rule(scenario=st.sampled_from(sorted(BY_NAME)))
    def reset(self, scenario: str) -> None:
        self.used.reset()
        self.seeded = []
        self.compare(scenario)

    def compare(self, scenario: str) -> None:
        """Fail if the broker is not a fresh one with the same seed data. It is that again afterwards."""
        mark = self.used.snapshot()
        found = self.differences_from_a_fresh_one(scenario)
        if found:
            pytest.fail("\n".join(["The answers differ:", *found]), pytrace=False)
        self.used.restore(mark)
        self.is_disturbed = False

    def differences_from_a_fresh_one(self, name: str) -> list[str]:
        with Broker(config=CONFIG) as fresh:
            for seeding in self.seeded:
                seed(fresh, seeding)
            expected = answers(fresh, name)
        return [str(each) for each in differences(expected, answers(self.used, name))]


TestResets = Resets.TestCase
TestResets.settings = settings(
    max_examples=examples(5),
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestResets = pytest.mark.timeout(600)(TestResets)
