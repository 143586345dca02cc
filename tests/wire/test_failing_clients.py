"""Each way in which a client fails gets one line in the log, the right one; other clients get none."""

from __future__ import annotations

import logging
import re
import socket
import ssl
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.end_txn import EndTxnRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually
from support.raw_client import RawClient, request_frame
from support.raw_requests import create_topic, fetch, find_coordinator, produce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NUMBERS = count()

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


def address(broker: Broker) -> tuple[str, int]:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return host, int(port)


def connect(broker: Broker) -> RawClient:
    """A client with an id of its own, so that its first failure has a line."""
    return RawClient(address(broker), client_id=f"app-{next(_NUMBERS)}")


def send(broker: Broker, data: bytes, source: str = "127.0.0.1") -> None:
    """Send bytes, and wait until the broker closes the connection."""
    with socket.create_connection(address(broker), 30, (source, 0)) as sock:
        sock.sendall(data)
        try:
            while sock.recv(1000):
                pass
        except ConnectionError:
            pass


def shake_hands(broker: Broker) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with suppress(OSError), connect(broker) as client:
        context.wrap_socket(client._socket)


def batch(size: int = 10, timestamp: int = 0, key: bytes | None = None, **fields: Any) -> bytearray:
    return build_batch([Record(0, timestamp, key, bytes(size))], **fields)


def damaged(place: int, value: int) -> bytearray:
    data = batch()
    data[place] = value
    return data


def producing(data: bytes | bytearray, topic: str = "t", **fields: Any) -> Callable[[Broker], None]:
    def act(broker: Broker) -> None:
        with connect(broker) as client:
            assert produce(client, topic, data, **fields).error_code

    return act


def produce_nowhere(broker: Broker) -> None:
    with connect(broker) as client:
        for _ in range(3):
            assert produce(client, "t", batch(), partition=7).error_code == 3


def produce_in_turn(broker: Broker, *batches: bytearray) -> None:
    with connect(broker) as client:
        *good, bad = [produce(client, "t", each).error_code for each in batches]
        assert not any(good)
        assert bad


def ask_for(topic: str, times: int, *, create: bool) -> Callable[[Broker], None]:
    def act(broker: Broker) -> None:
        wanted = [MetadataRequest.MetadataRequestTopic(name=topic)]
        with connect(broker) as client:
            for _ in range(times):
                client.call(MetadataRequest(topics=wanted, allow_auto_topic_creation=create), 10)

    return act


def join(client: RawClient, group: str, **fields: Any) -> Any:
    fields = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, **fields}
    protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"\0\0\0\0\0\0\0\0\0\0")]
    request = JoinGroupRequest(group_id=group, protocol_type="consumer", protocols=protocols, **fields)
    return client.call(request, 5)


def member_of(client: RawClient, group: str, **fields: Any) -> Any:
    """The answer to the second join, with the id that the first one gave."""
    first = join(client, group, **fields)
    return join(client, group, member_id=first.member_id, **fields) if first.error_code == 79 else first


def heartbeat_of_the_former(broker: Broker) -> None:
    with connect(broker) as client:
        former = member_of(client, "static", group_instance_id="i")
        assert not member_of(client, "static", group_instance_id="i").error_code
        request = HeartbeatRequest("static", former.generation_id, former.member_id, "i")
        assert client.call(request, 3).error_code == 82


def fall_silent(broker: Broker) -> None:
    with connect(broker) as client:
        joined = member_of(client, "silent", session_timeout_ms=50)
        assert not joined.error_code
        sync = SyncGroupRequest("silent", joined.generation_id, joined.member_id)
        assert not client.call(sync, 2).error_code
        request = HeartbeatRequest("silent", joined.generation_id, joined.member_id)
        eventually(lambda: client.call(request, 2).error_code == 25, "the session has ended", poll_s=0.2)


def come_and_go(broker: Broker) -> None:
    with connect(broker) as client:
        for _ in range(5):
            joined = member_of(client, "restless")
            assert not joined.error_code
            assert not client.call(LeaveGroupRequest("restless", joined.member_id), 2).error_code


def end_as_the_former(broker: Broker) -> None:
    with connect(broker) as client:
        assert find_coordinator_of_transactions(client)
        init = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=10_000)
        former = eventually(lambda: at_best(client.call(init, 4)), "the coordinator is loaded")
        assert not client.call(init, 4).error_code
        end = EndTxnRequest("tx", former.producer_id, former.producer_epoch, committed=True)
        assert client.call(end, 2).error_code == 90


def at_best(response: Any) -> Any:
    return None if response.error_code else response


def find_coordinator_of_transactions(client: RawClient) -> bool:
    return not client.call(FindCoordinatorRequest(key="tx", key_type=1), 2).error_code


def want_long_transactions(broker: Broker) -> None:
    with connect(broker) as client:
        init = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=10**6)
        assert client.call(init, 4).error_code == 50


def log_in_wrongly(broker: Broker) -> None:
    with connect(broker) as client:
        assert not client.call(SaslHandshakeRequest("PLAIN"), 1).error_code
        assert client.call(SaslAuthenticateRequest(b"\0alice\0wrong"), 1).error_code == 58


def ask_what_is_denied(broker: Broker) -> None:
    with connect(broker) as client:
        assert not client.call(SaslHandshakeRequest("PLAIN"), 1).error_code
        assert not client.call(SaslAuthenticateRequest(b"\0alice\0secret"), 1).error_code
        wanted = [MetadataRequest.MetadataRequestTopic(name="secrets")]
        client.call(MetadataRequest(topics=wanted), 10)


def log_in_where_none_is(broker: Broker) -> None:
    with connect(broker) as client:
        assert client.call(SaslHandshakeRequest("PLAIN"), 1).error_code == 34


def versions(key: int, version: int) -> bytes:
    """The frame of an ApiVersions request of another key and version."""
    frame = bytearray(request_frame(ApiVersionsRequest(), 0))
    frame[4:8] = key.to_bytes(2, "big") + version.to_bytes(2, "big")
    return bytes(frame)


def distrust(broker: Broker) -> None:
    context = ssl.create_default_context()
    with suppress(OSError), connect(broker) as client:
        context.wrap_socket(client._socket, server_hostname="localhost")


def fetch_far(broker: Broker) -> None:
    with connect(broker) as client:
        assert fetch(client, "t", 1_000_000).error_code == 1


def join_briefly(broker: Broker) -> None:
    with connect(broker) as client:
        assert join(client, "g", session_timeout_ms=1).error_code == 26


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
    "a wrong password": ("secured", r"127.0.0.1: login refused: .*password is wrong", log_in_wrongly),
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
        r"app-\d+ at 127.0.0.1: topic later does not exist; the client asks for it again and again, .*",
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
