"""20,000 malformed frames before, in the middle of and after logins, against a broker in its own process."""

from __future__ import annotations

import random
import struct
import time
from contextlib import ExitStack
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.api_keys import API_FACTS
from kcompat.security.login_lines import PLAIN_MODULE
from support.eventually import eventually, limit_s
from support.footprint import forget_peak, memory, open_sockets
from support.fuzzing import examples
from support.hostile_clients import MIB, HealthyNeighbour, connect, send_all
from support.hostile_frames import FOREIGN, length_lies, mutations, noise, truncations, valid_frame
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient
from support.raw_requests import create_topic
from support.samples import distance
from support.sasl import handshake_frame, plain_token, token_frame, versions_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAMES = examples(20_000)
HEALTHY = "healthy-neighbour"
LISTENERS = {"SASL": "SASL_PLAINTEXT"}
PROPERTIES = {
    "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="secret";',
    "listener.name.sasl.connections.max.reauth.ms": "3600000",
    "connection.failed.authentication.delay.ms": "0",
    "auto.create.topics.enable": "false",
}


def framed(body: memoryview | bytes) -> bytes:
    return struct.pack(">i", len(body)) + bytes(body)


TOKEN = plain_token("alice", "secret")
VERSIONS, HANDSHAKE, RAW = (
    framed(each) for each in (versions_frame(), handshake_frame(), handshake_frame(version=0))
)
LOGIN = framed(token_frame(TOKEN))
STATES = {
    "before": [],
    "after-versions": [VERSIONS],
    "tokens": [HANDSHAKE],
    "raw-tokens": [RAW],
    "after": [HANDSHAKE, LOGIN],
    "renewal": [HANDSHAKE, LOGIN, HANDSHAKE],
}
"""Frames that bring a connection into a state."""


def valid_frames() -> list[bytes]:
    """Frames of logins in every version, and a request of every other API in its first version."""
    logins = [
        *(versions_frame(version) for version in range(6)),
        *(handshake_frame(version=version) for version in range(2)),
        *(token_frame(TOKEN, version) for version in range(3)),
        TOKEN,
    ]
    others = [valid_frame(key, 0, lambda _name, _kind: None) for key in API_FACTS]
    return [framed(frame) for frame in logins] * 10 + others


def hostile_frames(count: int, rng: random.Random) -> Iterator[bytes]:
    """So many frames, the kinds in turn."""
    valid = valid_frames()
    cut = [frame for each in valid[:12] for frame in truncations(each)]
    made = [*FOREIGN, *noise(rng, count // 5), *rng.sample(cut, min(len(cut), count // 5))]
    each = (count - len(made)) // (2 * len(valid)) + 1
    for frame in valid:
        made += mutations(frame, rng, each)
        made += length_lies(frame, rng, each)
    rng.shuffle(made)
    return islice(made, count)


@pytest.fixture(scope="module")
def broker() -> Iterator[KcompatBroker]:
    with KcompatBroker(PROPERTIES, listeners=LISTENERS) as broker:
        yield broker
        assert broker.is_running(), broker.log_tail()
        assert "Traceback" not in broker.log_path.read_text(), broker.log_tail(8000)


@pytest.mark.timeout(240)
def test_malformed_frames_in_every_state_of_a_login(broker: KcompatBroker) -> None:
    rng = random.Random(20240229)
    sasl, plain = (broker.host, broker.listeners["SASL"][1]), (broker.host, broker.port)
    with RawClient(plain) as client:
        assert create_topic(client, HEALTHY) == 0
    send_all(sasl, hostile_frames(500, rng), prelude=STATES["tokens"])
    sockets, resident = open_sockets(broker.pid), memory(broker.pid, "VmRSS")
    forget_peak(broker.pid)
    neighbour = HealthyNeighbour(plain, HEALTHY)
    neighbour.start()
    sent = answered = 0
    for prelude in STATES.values():
        senders = send_all(sasl, hostile_frames(FRAMES // len(STATES), rng), prelude=prelude)
        sent += sum(sender.sent for sender in senders)
        answered += sum(sender.answered for sender in senders)
    neighbour.finish()
    assert sent >= FRAMES - len(STATES)
    assert answered >= FRAMES // 50
    assert neighbour.error is None
    assert neighbour.slowest_s < limit_s(5)
    assert memory(broker.pid, "VmHWM") - resident < 32 * MIB
    eventually(lambda: open_sockets(broker.pid) <= sockets, "the sockets are closed", 10)
    with connect(sasl, STATES["after"]) as connection:
        connection.sendall(VERSIONS)
        assert connection.recv(8)


@pytest.mark.parametrize("state", STATES)
def test_half_sent_frames_cost_no_memory_that_was_only_announced(broker: KcompatBroker, state: str) -> None:
    """300 connections announce frames of 512 KiB, which are 150 MiB together."""
    address = (broker.host, broker.listeners["SASL"][1])
    resident = memory(broker.pid, "VmRSS")
    forget_peak(broker.pid)
    with ExitStack() as stack:
        for _ in range(300):
            connection = stack.enter_context(connect(address, STATES[state]))
            connection.sendall(struct.pack(">i", 2**19) + bytes(100))
        with connect(address, STATES["after"]) as neighbour:
            neighbour.sendall(VERSIONS)
            neighbour.settimeout(limit_s(10))
            assert neighbour.recv(8)
        assert memory(broker.pid, "VmHWM") - resident < 32 * MIB


@pytest.mark.parametrize(
    "tries", [200, pytest.param(10_000, marks=pytest.mark.thorough("200 tries show the same"))]
)
def test_a_wrong_user_and_a_wrong_password_are_answered_alike(broker: KcompatBroker, tries: int) -> None:
    rng = random.Random(20240301)
    address = (broker.host, broker.listeners["SASL"][1])
    answers = set()
    for number in range(tries):
        user = "alice" if number % 2 else rng.choice(("bob", "Alice", "", "alice ", "al", "ä" * 100)) + "x"
        secret = rng.choice(("secret", "wrong", "x" * 1000, "sECRET", "s")) + "x"
        with connect(address, [HANDSHAKE]) as connection:
            connection.settimeout(limit_s(10))
            connection.sendall(framed(token_frame(plain_token(user, secret))))
            answers.add(connection.recv(1000))
    (answer,) = answers
    assert b"Invalid username or password" in answer


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "tries", [600, pytest.param(10_000, marks=pytest.mark.thorough("600 tries show the same"))]
)
def test_a_wrong_user_takes_as_long_as_a_wrong_password(broker: KcompatBroker, tries: int) -> None:
    """Tries of both kinds take turns, with names of the same length."""
    address = (broker.host, broker.listeners["SASL"][1])
    seconds: dict[str, list[float]] = {"alice": [], "nobod": []}
    for number in range(tries):
        user = ("alice", "nobod")[number % 2]
        with connect(address, [HANDSHAKE]) as connection:
            connection.settimeout(limit_s(10))
            began = time.perf_counter()
            connection.sendall(framed(token_frame(plain_token(user, "wrong!"))))
            assert connection.recv(1000)
            seconds[user].append(time.perf_counter() - began)
    known, unknown = seconds.values()
    assert distance(known, unknown) < 4, (distance(known, unknown), median(known), median(unknown))


def test_a_frame_larger_than_allowed_before_a_login_is_not_received(broker: KcompatBroker) -> None:
    with connect((broker.host, broker.listeners["SASL"][1])) as connection:
        connection.settimeout(limit_s(10))
        connection.sendall(struct.pack(">i", 2**19 + 1))
        assert connection.recv(1) == b""
