"""Each way in which a client fails gets one line in the log, the right one; other clients get none."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker, Cluster
from kcompat import logger_names as names
from kcompat.logger_names import KAFKA_NAMES
from kcompat.notices.causes import CAUSES
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from support.client_failures import ELSEWHERE, FAILURES
from support.eventually import eventually
from support.failing_clients import ask_for, batch, connect, join, member_of
from support.places import REPOSITORY
from support.raw_requests import create_topic, fetch, find_coordinator, produce

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = {
    "auto.create.topics.enable": "false",
    "message.max.bytes": "2000",
    "group.min.session.timeout.ms": "50",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.max.timeout.ms": "60000",
    "quota.window.num": "2",
    "quota.window.size.seconds": "1",
    "socket.request.max.bytes": "1000000",
    "max.connections.per.ip.overrides": "127.0.0.3:0",
}


@pytest.fixture(scope="module")
def plain() -> Iterator[Broker]:
    with Broker(config=CONFIG) as broker:
        with connect(broker) as admin:
            assert create_topic(admin, "t") == 0
            assert create_topic(admin, "punctual", configs={"message.timestamp.after.max.ms": "1000"}) == 0
            assert create_topic(admin, "compacted", configs={"cleanup.policy": "compact"}) == 0
            assert find_coordinator(admin, "g") == 0
            eventually(lambda: join(admin, "warm").error_code == 79, "the coordinator is loaded")
        yield broker


@pytest.fixture(scope="module")
def encrypted() -> Iterator[Broker]:
    with Broker(tls=True) as broker:
        yield broker


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    with Broker(
        users={"alice": "secret"}, acls=[], config={"connection.failed.authentication.delay.ms": "0"}
    ) as broker:
        yield broker


@pytest.fixture(scope="module")
def expiring() -> Iterator[Broker]:
    config = {"connections.max.reauth.ms": "3600000", "max.incremental.fetch.session.cache.slots": "1"}
    with Broker(clock="manual", users={"alice": "secret"}, config=config) as broker:
        yield broker


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    with Cluster(2) as cluster:
        with connect(cluster.brokers[0]) as admin:
            assert create_topic(admin, "t", replicas=2) == 0
            assert create_topic(admin, "safe", configs={"min.insync.replicas": "2"}, replicas=2) == 0
        cluster.wait_until_in_sync()
        yield cluster


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines that people see, without the counts of those of other tests."""
    lines = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    return [line for line in lines if not line.endswith("more like this suppressed]")]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_has_one_line_that_names_it(
    failure: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    fixture, _, line, act = FAILURES[failure]
    broker = request.getfixturevalue(fixture)
    caplog.clear()
    act(broker)
    eventually(lambda: warnings(caplog), "the log has a line")
    assert len(warnings(caplog)) == 1, warnings(caplog)
    assert re.fullmatch(line, warnings(caplog)[0]), warnings(caplog)[0]


def test_each_cause_has_a_client() -> None:
    shown = {cause for _, cause, _, _ in FAILURES.values()}
    assert {name for name, cause in CAUSES.items() if cause not in shown} == ELSEWHERE.keys()
    for place, words in ELSEWHERE.values():
        assert words in (REPOSITORY / place).read_text()


def test_clients_that_do_not_fail_get_no_line(plain: Broker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()
    with connect(plain) as client:
        for sequence in range(50):
            fields: dict[str, Any] = {"producer_id": 8000, "producer_epoch": 0, "base_sequence": sequence}
            assert not produce(client, "t", batch(timestamp=-1, **fields)).error_code
        end = produce(client, "t", batch(timestamp=-1)).base_offset + 1
        assert not fetch(client, "t", end).error_code
        ask_for("not-yet", 2, create=False)(plain)
        for _ in range(3):  # a program that is restarted
            joined = member_of(client, "calm")
            sync = SyncGroupRequest("calm", joined.generation_id, joined.member_id)
            assert not client.call(sync, 2).error_code
            assert not client.call(LeaveGroupRequest("calm", joined.member_id), 2).error_code
    assert not warnings(caplog)


def test_info_has_what_the_broker_does(caplog: pytest.LogCaptureFixture) -> None:
    for name in KAFKA_NAMES:
        caplog.set_level(logging.INFO, name)
    with Broker(config=CONFIG) as broker, connect(broker) as client:
        assert create_topic(client, "t") == 0
        assert find_coordinator(client, "g") == 0
        eventually(lambda: member_of(client, "g").error_code == 0, "the coordinator is loaded")
    lines = [f"{each.name}: {each.getMessage()}" for each in caplog.records]
    for wanted in (
        rf"{names.SERVER}: Broker 1 has started: listener PLAINTEXT is bound to 127.0.0.1:\d+, and its .*",
        rf"{names.CONTROLLER}: broker 1 is the controller, in epoch \d+",
        rf"{names.STATE_CHANGES}: Leader t-0 starts at leader epoch 0 from offset 0 .* ISR \[1\]",
        rf"{names.GROUP_COORDINATOR}: Preparing to rebalance group g in state Empty with old generation 0 .*",
        rf"{names.GROUP_COORDINATOR}: Stabilized group g generation 1 with 1 members",
        rf"{names.SERVER}: Broker 1 is stopping",
    ):
        assert any(re.fullmatch(wanted, line) for line in lines), (wanted, lines)
