"""Logins by SCRAM over the wire: users come and go, and an unknown user looks like a wrong password."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.security.credentials import SCRAM_MECHANISMS
from support.samples import distance
from support.scram_logins import ScramLogin, ScramPorts, set_password, tried

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.security.credentials import ScramMechanism

FIRST, SECOND = SCRAM_MECHANISMS
REFUSED = ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.fixture(scope="module")
def ports() -> Iterator[ScramPorts]:
    ports = ScramPorts()
    with Broker(config=ports.settings):
        set_password(ports.plain, "alice", "secret", FIRST)
        yield ports


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS, ids=lambda each: each.name)
def test_a_user_logs_in_by_the_mechanisms_of_its_credentials_until_they_are_deleted(
    ports: ScramPorts, mechanism: ScramMechanism
) -> None:
    other = SECOND if mechanism is FIRST else FIRST
    set_password(ports.plain, "bob", "secret", mechanism)
    with ScramLogin(ports.sasl, mechanism, "bob", "secret") as client:
        assert client.error == ErrorCode.NONE
        assert client.call(MetadataRequest(topics=[]), 4).brokers
    assert tried(ports.sasl, other, "bob", "secret").error == REFUSED
    set_password(ports.plain, "bob", "new", mechanism)
    assert tried(ports.sasl, mechanism, "bob", "secret").error == REFUSED
    assert tried(ports.sasl, mechanism, "bob", "new").error == ErrorCode.NONE
    set_password(ports.plain, "bob", None, mechanism)
    assert tried(ports.sasl, mechanism, "bob", "new").error == REFUSED


def test_the_salt_of_an_unknown_user_stays_over_a_restart(tmp_path: Path) -> None:
    salts: list[bytes] = []
    for name in ("nobody", "nobody", "other"):
        ports = ScramPorts()
        with Broker(data_dir=tmp_path, config=ports.settings):
            salts.append(tried(ports.sasl, FIRST, name, "x").salt)
    assert salts[0] == salts[1] != salts[2]


TRIES = [
    pytest.param(600, id="600"),
    pytest.param(10_000, id="10000", marks=pytest.mark.thorough("600 tries")),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("tries", TRIES)
def test_an_unknown_user_is_not_told_from_a_wrong_password(ports: ScramPorts, tries: int) -> None:
    """Tries of both kinds take turns; neither the bytes nor the times of the answers tell them apart."""
    seconds: dict[str, tuple[list[float], list[float]]] = {"alice": ([], []), "nobody": ([], [])}
    shapes: dict[str, set[Any]] = {"alice": set(), "nobody": set()}
    for number in range(tries):
        name = ("alice", "nobody")[number % 2]
        login = tried(ports.sasl, FIRST, name, "wrong")
        first, final = login.answers
        assert login.error == REFUSED
        shapes[name].add(
            (first.error_code, first.error_message, login.iterations, final.error_message, final.auth_bytes)
        )
        for of_round, taken in zip(seconds[name], login.seconds, strict=True):
            of_round.append(taken)
    assert shapes["alice"] == shapes["nobody"]
    assert len(shapes["alice"]) == 1
    for known, unknown in zip(seconds["alice"], seconds["nobody"], strict=True):
        assert distance(known, unknown) < 4, (distance(known, unknown), median(known), median(unknown))
