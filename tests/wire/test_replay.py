"""`kcompat replay` between brokers of ours; interop-tests/test_replay.py plays to a Kafka."""

from __future__ import annotations

import re
import socket
import socketserver
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.cli.main import main
from kcompat.errors import UsageError
from kcompat.instrumentation.recording.flight_reader import Flight
from kcompat.instrumentation.replay.connection import TargetConnection
from kcompat.instrumentation.replay.player import Player
from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.records.batch import build_batch, set_producer
from kcompat.records.record import Record
from support.eventually import eventually
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import create_topic, describe_topic, fetch, find_coordinator, produce
from support.recorded import answer_of, exchange_of, frame_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
REFUSED = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-"


def connect(broker: Broker, client_id: str = "app") -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)), client_id=client_id)


def write(client: RawClient) -> None:
    """Write as an idempotent producer."""
    given = client.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
    batch = bytearray(build_batch([Record(0, 1000, b"k", b"v")], base_sequence=0))
    set_producer(memoryview(batch), 0, given.producer_id, given.producer_epoch)
    assert produce(client, "orders", batch, acks=-1).error_code == 0


def join(client: RawClient) -> None:
    """Join a group under the id that the broker gives."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"\0\0")
    request = JoinGroupRequest(
        group_id="g", session_timeout_ms=30_000, rebalance_timeout_ms=1000, protocol_type="consumer",
        protocols=[protocol],
    )  # fmt: skip
    request.member_id = client.call(request, 6).member_id
    assert client.call(request, 6).error_code == 0


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The record of a producer, of a consumer whose fetch waits for what is written, and of a group."""
    directory = tmp_path_factory.mktemp("record")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KCOMPAT_RECORD", str(directory))
        with (
            Broker(record_requests=True) as broker,
            connect(broker) as client,
            connect(broker, "reader") as reader,
        ):
            create_topic(client, "orders")
            describe_topic(client, "orders")
            write(client)
            waiting = threading.Thread(target=lambda: fetch(reader, "orders", 1, max_wait_ms=20_000))
            waiting.start()
            eventually(lambda: any(each.is_waiting for each in broker.requests("reader")), "the fetch waits")
            write(client)
            waiting.join()
            eventually(lambda: find_coordinator(client, "g") == 0, "there is a coordinator")
            join(client)
    return directory


def shifted(broker: Broker) -> None:
    """Hand out ids, so that those of the replay are others than those of the record."""
    with connect(broker) as client:
        for _ in range(3):
            client.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)


def test_another_broker_answers_the_same(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        shifted(broker)
        assert main(["replay", str(record), broker.bootstrap_servers]) == 0
    found = re.fullmatch(
        r"(\d+) requests played, (\d+) answers compared, no difference\n", capsys.readouterr().out
    )
    assert found is not None
    assert int(found[1]) == int(found[2]) >= 10


def test_a_planted_difference_is_found(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(config={"message.max.bytes": 60}) as broker:
        assert main(["replay", str(record), broker.bootstrap_servers]) == 1
    shown = capsys.readouterr().out
    assert "app Produce v9 orders: ok" in shown
    assert "responses[0].partition_responses[0].error_code: recorded NONE, now MESSAGE_TOO_LARGE" in shown
    assert "responses[0].partitions[0].records (number of records): recorded 1, now 0" in shown


def test_after_a_lost_connection_the_replay_goes_on(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(config={"socket.request.max.bytes": 100}) as broker:
        assert main(["replay", str(record), broker.bootstrap_servers]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"Produce v9 orders: .*\n    answer: recorded 'an answer', now 'none \(", shown)
    assert not re.search(r"(Metadata|JoinGroup|FindCoordinator) v.*\n    answer: ", shown)


def test_the_recorded_times_are_kept_or_scaled(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        assert main(["replay", "--speed", "2", str(record), broker.bootstrap_servers]) == 0
    assert "no difference" in capsys.readouterr().out


@pytest.mark.parametrize("speed", ["0", "-1", "fast", "inf"])
def test_a_speed_is_a_number_above_zero(speed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["replay", "--speed", speed, "file", "localhost:1"])
    assert f"{speed} is not a speed, which is a number above 0" in capsys.readouterr().err


def test_a_broker_that_does_not_answer_is_named(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    assert main(["replay", str(record), f"127.0.0.1:{port}"]) == 1
    assert f"no Kafka answers at 127.0.0.1:{port}:" in capsys.readouterr().err


@pytest.mark.parametrize("tls", [True, False])
def test_a_listener_with_a_login_is_played_to(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], tls: bool
) -> None:
    client, address = tmp_path / "client.properties", ""

    def play(**changes: str) -> tuple[int, str, str]:
        settings = {**broker.client_config("alice", library="java", mechanism="SCRAM-SHA-256"), **changes}
        client.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        code = main(["replay", "--command-config", str(client), str(record), address])
        return code, *capsys.readouterr()

    with Broker(tls=tls, users={"alice": "wonder"}) as broker:
        address = broker.bootstrap_servers
        code, shown, _ = play()
        assert (code, shown.endswith("no difference\n")) == (0, True), shown
        broker.reset()
        code, _, error = play(**{"sasl.jaas.config": f'{SCRAM} required username="alice" password="wrong";'})
        assert (code, error[: -len("SHA-256\n")]) == (1, f"kcompat: the login at {address} failed: {REFUSED}")
        code, _, error = play(**{"security.protocol": "SASL"})
        assert (code, error[:60]) == (1, f"kcompat: {client}: Invalid value SASL for configuration "[:60])
        if tls:
            assert main(["replay", str(record), address]) == 1
            assert "if its listener has TLS or a login, give --command-config" in capsys.readouterr().err


Answers = Callable[[bytes], "bytes | None"]


@contextmanager
def server(answer: Answers) -> Iterator[tuple[str, int]]:
    """A server that is no Kafka: it answers each frame as `answer` says, or not at all."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while prefix := self.rfile.read(4):
                answered = answer(self.rfile.read(int.from_bytes(prefix, "big")))
                if answered is not None:
                    self.wfile.write(answered)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as serving:
        serving.daemon_threads = True
        threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield ("127.0.0.1", serving.server_address[1])
        finally:
            serving.shutdown()


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def versions(frame: bytes) -> bytes:
    """The answer of a broker to ApiVersions v0."""
    keys = [ApiVersionsResponse.ApiVersion(api_key=key, min_version=0, max_version=20) for key in range(60)]
    return framed(frame[4:8] + b"".join(ApiVersionsResponse(api_keys=keys).encode(0)))


@pytest.mark.parametrize(
    "answer",
    [
        lambda frame: framed(frame[4:8] + b"\xff" * 100),
        lambda frame: framed(frame[4:8]),
        lambda frame: framed(frame[4:8] + bytes(6)),
        lambda _: bytes(4000),
        lambda _: b"\xff" * 4000,
        lambda _: framed(b"\xff" * 14) * 100,
    ],
    ids=["garbage", "no body", "no API", "empty", "negative", "other id"],
)
def test_a_server_that_is_no_kafka_is_told_in_a_sentence(answer: Answers) -> None:
    with server(answer) as address, pytest.raises(UsageError, match=f"no Kafka answers at .*:{address[1]}: "):
        Player(Flight([], {}), address, lambda *_: None)


def test_a_replay_to_a_broker_that_hangs_is_given_up() -> None:
    asked = [
        exchange_of(frame_of(request, version), answer_of(response, version))
        for _ in range(5)
        for request, response, version in (
            (ApiVersionsRequest(), ApiVersionsResponse(), 0),
            (HeartbeatRequest(group_id="g"), HeartbeatResponse(), 3),
        )
    ]
    flight = Flight([(1, each) for each in asked], {})
    told: list[object] = []
    with server(lambda frame: versions(frame) if frame[:2] == b"\0\x12" else None) as address:
        player = Player(flight, address, lambda *seen: told.append(seen), patience_s=0.2)
        with pytest.raises(UsageError, match=r"answered none of the last 3 requests within 0\.2 s each"):
            player.play()
    assert len(told) == 2


def test_the_command_waits_as_long_as_it_is_told(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with server(lambda _: None) as (host, port):
        assert main(["replay", "--timeout", "0.1", str(record), f"{host}:{port}"]) == 1
    assert capsys.readouterr().err == f"kcompat: no Kafka answers at {host}:{port}: timed out\n"
    with pytest.raises(SystemExit):
        main(["replay", "--timeout", "0", str(record), "localhost:1"])
    assert "0 is not a time in seconds, which is a number above 0" in capsys.readouterr().err


def test_an_answer_that_comes_byte_by_byte_is_not_waited_for_longer() -> None:
    def trickle() -> None:
        peer, _ = listening.accept()
        with peer, suppress(OSError):
            for byte in framed(bytes(1000)):
                peer.sendall(bytes([byte]))
                if stopped.wait(0.05):
                    return

    stopped = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=trickle, daemon=True).start()
        connection = TargetConnection(listening.getsockname(), 0.3)
        try:
            connection.send(framed(bytes(8)))
            with pytest.raises(TimeoutError):
                connection.receive(0)
        finally:
            stopped.set()
            connection.close()
