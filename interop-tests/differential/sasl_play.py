"""Logins played to the SASL listeners of a real Kafka and of kcompat, side by side."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest

from differential.compare import differences
from differential.play import Play
from kcompat.protocol.api_keys import ApiKey
from real_kafka import RealKafka
from support.kcompat_broker import KcompatBroker
from support.places import CACHE
from support.sasl import plain_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from differential.play import Step
    from support.broker_process import BrokerProcess
    from support.scram_client import ScramClient

PlayType = TypeVar("PlayType", bound=Play)

LISTENERS: Final = {"SASL": "SASL_PLAINTEXT"}
USERS: Final = ("alice", "bob", "carol")
PLAIN_LOGIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required " + " ".join(
    f'user_{user}="secret"' for user in USERS
)
SCRAM_LOGIN: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
PROPERTIES: Final = {
    "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.sasl.plain.sasl.jaas.config": f"{PLAIN_LOGIN};",
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": SCRAM_LOGIN,
    "listener.name.sasl.scram-sha-512.sasl.jaas.config": SCRAM_LOGIN,
    "delegation.token.secret.key": "secret-key",
    "delegation.token.max.lifetime.ms": "100000000",
    "delegation.token.expiry.time.ms": "10000000",
}
HANDSHAKE, TOKEN = ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE


@contextmanager
def side_by_side(
    properties: Mapping[str, str], listeners: Mapping[str, str] = LISTENERS
) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """A real Kafka, and ours with the same broker id, with these settings."""
    if shutil.which("java") is None or not (CACHE / "kafka-3.9.2" / "libs").is_dir():
        pytest.skip("install a Java 17 runtime and run python interop-tests/fetch.py jars")
    kafka = RealKafka(properties=properties, listeners=listeners)
    with kafka, KcompatBroker({"broker.id": "1", **properties}, listeners=listeners) as ours:
        yield kafka, ours
        assert ours.is_running(), ours.log_tail()
        assert "Traceback" not in ours.log_tail(1_000_000), ours.log_tail(8000)


def transcript(play: PlayType, scene: Callable[[PlayType], None]) -> list[Step]:
    """Play a scene on a stage, and close it."""
    try:
        scene(play)
    finally:
        play.close()
    return play.transcript


def insist_on_same(theirs: list[Step], mine: list[Step]) -> None:
    """Compare the answers of both brokers to a scene."""
    assert theirs
    found = list(differences(theirs, mine))
    assert not found, "\n".join(map(str, found))


class SaslPlay(Play):
    """A stage at the listener with SASL, with one at the listener without it."""

    def __init__(self, broker: BrokerProcess, prefix: str) -> None:
        super().__init__(broker.listeners["SASL"][1], prefix)
        self.open = Play(broker.port, prefix)
        self._logged_in: set[str] = set()

    def log_in(self, user: str) -> str:
        """Log in by PLAIN on a connection of the user's name; return that name."""
        if user not in self._logged_in:
            self._logged_in.add(user)
            self.do(HANDSHAKE, 1, on=user, mechanism="PLAIN")
            assert self.do(TOKEN, 1, on=user, auth_bytes=plain_token(user, "secret")).error_code == 0
        return user

    def close(self) -> None:
        """Close every connection."""
        super().close()
        self.open.close()


def without_random(response: Any) -> None:
    """Leave the form of a SCRAM answer, and its message."""
    text = response.auth_bytes.decode()
    response.auth_bytes = "|".join(part[:2] for part in text.split(",")).encode()
    response.session_lifetime_ms = min(response.session_lifetime_ms, 1)


def handshake(play: SaslPlay, mechanism: str = "SCRAM-SHA-256", on: str = "main") -> None:
    def in_order(response: Any) -> None:
        response.mechanisms.sort()

    play.call(HANDSHAKE, 1, on=on, mechanism=mechanism, trim=in_order)


def scram(
    play: SaslPlay, client: ScramClient, mechanism: str = "SCRAM-SHA-256", on: str = "main", **replaced: str
) -> None:
    """Send both messages of a login."""
    handshake(play, mechanism, on)
    answer = play.do(TOKEN, 1, on=on, auth_bytes=client.first())
    play.note("first", answer.error_code)
    if answer.error_code:
        play.reply("the end", on=on)
        return
    final = client.final(answer.auth_bytes, **replaced)
    play.call(TOKEN, 1, on=on, auth_bytes=final, trim=without_random)
