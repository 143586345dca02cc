"""Each way in which a client fails gets one line in the log, the right one; other clients get none."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat import logger_names as names
from kcompat.logger_names import KAFKA_NAMES
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from support.eventually import eventually
from support.failing_clients import (
    add_offsets_of_the_former,
    ask_for,
    ask_what_is_denied,
    batch,
    come_and_go,
    commit_of_the_former,
    connect,
    damaged,
    distrust,
    end_as_the_former,
    fall_silent,
    fetch_far,
    heartbeat_of_the_former,
    join,
    join_briefly,
    log_in_where_none_is,
    log_in_wrongly,
    member_of,
    produce_in_turn,
    produce_nowhere,
    producing,
    send,
    shake_hands,
    versions,
    want_long_transactions,
)
from support.raw_client import request_frame
from support.raw_requests import create_topic, fetch, find_coordinator, produce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONFIG = {
    "auto.create.topics.enable": "false",
    "message.max.bytes": "2000",
    "group.min.session.timeout.ms": "50",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.max.timeout.ms": "60000",
    "quota.window.num": "2",
    "quota.window.size.seconds": "1",
    "socket.request.max.bytes": "1000000",
}


@pytest.fixture(scope="module")
def plain() -> Iterator[Broker]:
    with Broker(config=CONFIG) as broker:
        with connect(broker) as admin:
            assert create_topic(admin, "t") == 0
            assert create_topic(admin, "punctual", configs={"message.timestamp.after.max.ms": "1000"}) == 0
            assert create_topic(admin, "compacted", configs={"cleanup.policy": "compact"}) == 0
            assert create_topic(admin, "safe", configs={"min.insync.replicas": "2"}) == 0
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


FAILURES: dict[str, tuple[str, str, Callable[[Broker], None]]] = {
    "TLS at a plain port": (
        "plain",
        r"127.0.0.1: connection closed: the client speaks TLS, and listener PLAINTEXT does not",
        shake_hands,
    ),
    "no TLS at a TLS port": (
        "encrypted",
        r"127.0.0.1: connection closed: the client does not speak TLS, and listener SSL does",
        lambda broker: send(broker, request_frame(ApiVersionsRequest(), 0)),
    ),
    "a certificate that the client does not trust": (
        "encrypted",
        r"127.0.0.1: connection closed: TLS handshake on listener SSL failed: .*",
        distrust,
    ),
    "HTTP": (
        "plain",
        r"127.0.0.1: connection closed: the client speaks HTTP, and listener PLAINTEXT .*",
        lambda broker: send(broker, b"GET / HTTP/1.1\r\n\r\n"),
    ),
    "a frame that is too large": (
        "plain",
        r"127.0.0.1: connection closed: a frame of 2000000 bytes, .* at most 1000000 are allowed .*",
        lambda broker: send(broker, (2_000_000).to_bytes(4, "big")),
    ),
    "an unknown API": (
        "plain",
        r"127.0.0.1: connection closed: API key 999 is not served",
        lambda broker: send(broker, versions(999, 0)),
    ),
    "an unknown version": (
        "plain",
        r"127.0.0.2: connection closed: version 99 of METADATA is not served, but 0 to \d+",
        lambda broker: send(broker, versions(3, 99), "127.0.0.2"),
    ),
    "a wrong password": (
        "secured",
        r"127.0.0.1: login refused: unknown user or wrong password",
        log_in_wrongly,
    ),
    "no login": (
        "secured",
        r"127.0.0.1: connection closed: .* must set security.protocol to one with SASL",
        lambda broker: send(broker, request_frame(MetadataRequest(topics=[]), 1)),
    ),
    "a login where none is wanted": (
        "plain",
        r"app-\d+ at 127.0.0.1: the client wants to log in by SASL, and listener PLAINTEXT has no logins: .*",
        log_in_where_none_is,
    ),
    "what an ACL does not allow": (
        "secured",
        r"app-\d+ at 127.0.0.1: Metadata refused: User:alice may not Describe Topic secrets",
        ask_what_is_denied,
    ),
    "a missing topic": (
        "plain",
        r"app-\d+ at 127.0.0.1: topic nowhere does not exist, .*auto.create.topics.enable=false.*",
        ask_for("nowhere", 3, create=True),
    ),
    "a topic that a client waits for": (
        "plain",
        r"app-\d+ at 127.0.0.1: topic later does not exist; the client asks for missing topics again .*",
        ask_for("later", 5, create=False),
    ),
    "a missing partition": (
        "plain",
        r"app-\d+ at 127.0.0.1: produces to t-7, which does not exist",
        produce_nowhere,
    ),
    "a large batch": (
        "plain",
        r"app-\d+ at 127.0.0.1: a batch for t-0 is refused: a batch of 3\d+ bytes .*max.message.bytes.*",
        producing(batch(3000)),
    ),
    "a damaged batch": (
        "plain",
        r"app-\d+ at 127.0.0.1: a batch for t-0 is damaged: the batch does not match its CRC",
        producing(damaged(-1, 99)),
    ),
    "a timestamp of the future": (
        "plain",
        r"app-\d+ at 127.0.0.1: a batch for punctual-0 is refused for its timestamps: .*",
        producing(batch(timestamp=2**42), "punctual"),
    ),
    "a record without a key in a compacted topic": (
        "plain",
        r"app-\d+ at 127.0.0.1: a batch for compacted-0 is refused: INVALID_RECORD: .*",
        producing(batch(), "compacted"),
    ),
    "an unknown format": (
        "plain",
        r"app-\d+ at 127.0.0.1: a batch for t-0 is damaged: bytes that begin no record batch",
        producing(damaged(16, 9)),
    ),
    "acks that there are not": (
        "plain",
        r"app-\d+ at 127.0.0.1: a batch for t-0 is refused: INVALID_REQUIRED_ACKS: .*",
        producing(batch(), acks=5),
    ),
    "a gap in the sequence": (
        "plain",
        r"app-\d+ at 127.0.0.1: a batch of producer 7000 for t-0 is out of order: its sequence is 5, .* 0",
        lambda broker: produce_in_turn(
            broker,
            batch(producer_id=7000, producer_epoch=0, base_sequence=0),
            batch(producer_id=7000, producer_epoch=0, base_sequence=5),
        ),
    ),
    "a former producer": (
        "plain",
        r"app-\d+ at 127.0.0.1: producer 7001 is fenced in t-0: its epoch 0 is over, .* epoch 1",
        lambda broker: produce_in_turn(
            broker,
            batch(producer_id=7001, producer_epoch=1, base_sequence=0),
            batch(producer_id=7001, producer_epoch=0, base_sequence=1),
        ),
    ),
    "a former producer of transactions": (
        "plain",
        r"app-\d+ at 127.0.0.1: EndTxn of transactional.id tx is refused: its epoch 0 is over, .*",
        end_as_the_former,
    ),
    "transactions that last too long": (
        "plain",
        r"app-\d+ at 127.0.0.1: transaction.timeout.ms=1000000 of .* tx is refused: .* is 60000",
        want_long_transactions,
    ),
    "an offset that is not there": (
        "plain",
        r"app-\d+ at 127.0.0.1: fetches t-0 from offset 1000000, and its log has offsets \d+ to \d+",
        fetch_far,
    ),
    "a session timeout out of bounds": (
        "plain",
        r"app-\d+ at 127.0.0.1: cannot join group g: INVALID_SESSION_TIMEOUT: .*",
        join_briefly,
    ),
    "two members with one instance id": (
        "plain",
        r"app-\d+ at 127.0.0.1: member \S+ of group static is fenced: .* group.instance.id i",
        heartbeat_of_the_former,
    ),
    "a commit with the instance id of another member": (
        "plain",
        r"app-\d+ at 127.0.0.1: member \S+ of group static-commit is fenced: .* group.instance.id i",
        commit_of_the_former,
    ),
    "offsets of a transaction with the instance id of another member": (
        "plain",
        r"app-\d+ at 127.0.0.1: member \S+ of group static-tx is fenced: .* group.instance.id i",
        add_offsets_of_the_former,
    ),
    "a silent member": (
        "plain",
        r"group silent: member \S+ of app-\d+ at 127.0.0.1 is removed: no request for its session timeout .*",
        fall_silent,
    ),
    "a member that comes and goes": (
        "plain",
        r"group restless: the group rebalances again and again, last for this reason: .*member app-.*",
        come_and_go,
    ),
}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines that people see, without the counts of those of other tests."""
    lines = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    return [line for line in lines if not line.endswith("more like this suppressed]")]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_has_one_line_that_names_it(
    failure: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    fixture, line, act = FAILURES[failure]
    broker: Broker = request.getfixturevalue(fixture)
    caplog.clear()
    act(broker)
    eventually(lambda: warnings(caplog), "the log has a line")
    assert len(warnings(caplog)) == 1, warnings(caplog)
    assert re.fullmatch(line, warnings(caplog)[0]), warnings(caplog)[0]


def test_clients_that_do_not_fail_get_no_line(plain: Broker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()
    with connect(plain) as client:
        for sequence in range(50):
            fields = {"producer_id": 8000, "producer_epoch": 0, "base_sequence": sequence}
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
