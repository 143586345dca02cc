"""Logins by SCRAM over the wire: users come and go, and an unknown user looks like a wrong password."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.security.credentials import SCRAM_MECHANISMS
from kcompat.security.scram_keys import random_text, salted_password
from support.ports import free_port
from support.raw_client import RawClient
from support.scram_client import ScramClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.security.credentials import ScramMechanism

SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
    "connection.failed.authentication.delay.ms": "0",
}
FIRST, SECOND = SCRAM_MECHANISMS
Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion


class Ports:
    """The ports of the listeners of a broker."""

    def __init__(self) -> None:
        self.plain, self.sasl = free_port(), free_port()

    @property
    def listeners(self) -> str:
        """The setting of these listeners."""
        return f"PLAINTEXT://127.0.0.1:{self.plain},SASL://127.0.0.1:{self.sasl}"


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    ports = Ports()
    with Broker(config={**SETTINGS, "listeners": ports.listeners}):
        set_password(ports.plain, "alice", "secret", FIRST)
        set_password(ports.plain, "alice", "secret", SECOND)
        yield ports


def set_password(port: int, name: str, password: str | None, mechanism: ScramMechanism) -> None:
    """Set the password of a user, or delete it."""
    request = AlterUserScramCredentialsRequest([Deletion(name, mechanism.type)])
    if password is not None:
        salt = random_text().encode()
        salted = salted_password(mechanism, password, salt, 4096)
        upsertion = Upsertion(name, mechanism.type, 4096, salt, salted)
        request = AlterUserScramCredentialsRequest(upsertions=[upsertion])
    with RawClient(("127.0.0.1", port)) as client:
        assert [row.error_code for row in client.call(request, 0).results] == [0]


class Attempt:
    """One login: the answers, and the seconds that each took."""

    def __init__(self, port: int, mechanism: ScramMechanism, name: str, password: str, nonce: str) -> None:
        scram = ScramClient(name, password, mechanism.hash, nonce)
        self.answers: list[Any] = []
        self.seconds: list[float] = []
        with RawClient(("127.0.0.1", port)) as client:
            client.call(SaslHandshakeRequest(mechanism=mechanism.name), 1)
            self._ask(client, scram.first())
            self._ask(client, scram.final(self.answers[0].auth_bytes))
            self.error = ErrorCode(self.answers[1].error_code)
            if self.error is ErrorCode.NONE:
                assert self.answers[1].auth_bytes == scram.expected
                assert client.call(MetadataRequest(topics=[]), 4).brokers
        self.salt, self.iterations = scram.salt, scram.iterations

    def _ask(self, client: RawClient, token: bytes) -> None:
        begin = time.perf_counter()
        self.answers.append(client.call(SaslAuthenticateRequest(auth_bytes=token), 2))
        self.seconds.append(time.perf_counter() - begin)


def attempt(
    port: int, name: str, password: str, mechanism: ScramMechanism = FIRST, nonce: str = "0123456789abcdef"
) -> Attempt:
    """Try to log in."""
    return Attempt(port, mechanism, name, password, nonce)


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_a_user_logs_in_by_the_mechanisms_of_its_credentials_until_they_are_deleted(
    ports: Ports, mechanism: ScramMechanism
) -> None:
    other = SECOND if mechanism is FIRST else FIRST
    set_password(ports.plain, "bob", "secret", mechanism)
    assert attempt(ports.sasl, "bob", "secret", mechanism).error is ErrorCode.NONE
    assert attempt(ports.sasl, "bob", "secret", other).error is ErrorCode.SASL_AUTHENTICATION_FAILED
    set_password(ports.plain, "bob", "new", mechanism)
    assert attempt(ports.sasl, "bob", "secret", mechanism).error is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert attempt(ports.sasl, "bob", "new", mechanism).error is ErrorCode.NONE
    set_password(ports.plain, "bob", None, mechanism)
    assert attempt(ports.sasl, "bob", "new", mechanism).error is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_the_salt_of_an_unknown_user_stays_over_a_restart(tmp_path: Path) -> None:
    salts: list[bytes] = []
    for name in ("nobody", "nobody", "other"):
        ports = Ports()
        with Broker(data_dir=tmp_path, config={**SETTINGS, "listeners": ports.listeners}):
            salts.append(attempt(ports.sasl, name, "x").salt)
    assert salts[0] == salts[1] != salts[2]


TRIES = [
    pytest.param(600, id="600"),
    pytest.param(10_000, id="10000", marks=pytest.mark.thorough("600 tries")),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("tries", TRIES)
def test_an_unknown_user_is_not_told_from_a_wrong_password(ports: Ports, tries: int) -> None:
    """Tries of both kinds take turns; a test of their bytes and of their times must not tell them apart."""
    seconds: dict[str, list[list[float]]] = {"alice": [[], []], "nobody": [[], []]}
    shapes: dict[str, set[Any]] = {"alice": set(), "nobody": set()}
    for number in range(tries):
        name = ("alice", "nobody")[number % 2]
        tried = attempt(ports.sasl, name, "wrong")
        first, final = tried.answers
        assert tried.error is ErrorCode.SASL_AUTHENTICATION_FAILED
        shapes[name].add(
            (first.error_code, first.error_message, tried.iterations, final.error_message, final.auth_bytes)
        )
        for round_seconds, taken in zip(seconds[name], tried.seconds, strict=True):
            round_seconds.append(taken)
    assert shapes["alice"] == shapes["nobody"]
    assert len(shapes["alice"]) == 1
    for known, unknown in zip(seconds["alice"], seconds["nobody"], strict=True):
        assert distance(known, unknown) < 4, (distance(known, unknown), median(known), median(unknown))


def distance(ones: list[float], others: list[float]) -> float:
    """Return how far two samples are apart, in standard errors of the difference of their ranks' sum
    (Mann and Whitney's test).
    """
    ranked = sorted([(value, 0) for value in ones] + [(value, 1) for value in others])
    ranks = sum(rank for rank, (_, kind) in enumerate(ranked, 1) if kind == 0)
    n, m = len(ones), len(others)
    mean, variance = n * (n + m + 1) / 2, n * m * (n + m + 1) / 12
    return abs(ranks - mean) / variance**0.5
