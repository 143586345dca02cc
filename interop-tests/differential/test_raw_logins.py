"""Raw frames of clients that log in, played to a SASL listener of a real Kafka and of kcompat; the answers
must be the same.
"""

from __future__ import annotations

import struct
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import pytest

from differential.play import Play
from differential.sasl_play import insist_on_same, side_by_side, transcript
from kcompat.protocol.api_keys import ApiKey
from support.sasl import plain_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from differential.play import Step
    from support.broker_process import BrokerProcess

    Scene = Callable[[Play], None]

LISTENERS = {"SASL": "SASL_PLAINTEXT", "SHORT": "SASL_PLAINTEXT"}
SESSION_MS = 2000
LOGIN = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'user_alice="secret" user_bob="other" user_carl="sl/ash; \\"quote\\"" user_ünal=\'pässword\';'
)
PROPERTIES = {
    "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.short.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": LOGIN,
    "listener.name.short.plain.sasl.jaas.config": LOGIN,
    "listener.name.short.plain.connections.max.reauth.ms": str(SESSION_MS),
    "listener.name.sasl.sasl.server.max.receive.size": "1000",
}
ALICE, BOB = plain_token("alice", "secret"), plain_token("bob", "other")
USERS = (BOB, plain_token("carl", 'sl/ash; "quote"'), plain_token("ünal", "pässword"))
HANDSHAKE, TOKEN, VERSIONS = ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.API_VERSIONS
SOFTWARE = {"client_software_name": "raw", "client_software_version": "1.0"}


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """A real Kafka, and ours."""
    with side_by_side(PROPERTIES, LISTENERS) as both:
        yield both


def only_error(response: Any) -> None:
    """Leave the error of an ApiVersions response: the lists are compared elsewhere."""
    response.api_keys = []
    response.supported_features = []
    response.finalized_features = []
    response.finalized_features_epoch = -1


def versions(play: Play, version: int, **fields: Any) -> None:
    play.call(VERSIONS, version, trim=only_error, **{**SOFTWARE, **fields})


def handshake(play: Play, version: int = 1, mechanism: str = "PLAIN") -> None:
    play.call(HANDSHAKE, version, mechanism=mechanism)


def token(play: Play, data: bytes, version: int = 1) -> None:
    play.call(TOKEN, version, auth_bytes=data)


def is_served(play: Play) -> None:
    play.call(ApiKey.HEARTBEAT, 0, group_id="", member_id="", generation_id=0)


# The scenarios: each plays to one listener


def logins_of_every_version(play: Play) -> None:
    for version in range(3):
        on = f"v{version}"
        play.call(VERSIONS, 3, on=on, trim=only_error, **SOFTWARE)
        play.call(HANDSHAKE, 1, on=on, mechanism="PLAIN")
        play.call(TOKEN, version, on=on, auth_bytes=ALICE)
        play.call(ApiKey.HEARTBEAT, 0, on=on, group_id="", member_id="", generation_id=0)


def logins_without_versions(play: Play) -> None:
    handshake(play)
    token(play, b"alice" + ALICE)
    is_served(play)


def users_of_all_kinds(play: Play) -> None:
    for number, data in enumerate(USERS):
        play.call(HANDSHAKE, 1, on=f"{number}", mechanism="PLAIN")
        play.call(TOKEN, 2, on=f"{number}", auth_bytes=data)


def refused_tokens(play: Play) -> None:
    for data in (
        b"\0alice\0wrong",
        b"\0nobody\0secret",
        b"\0alice\0",
        b"\0\0secret",
        b"\0alice",
        b"alice",
        b"",
        b"\0alice\0secret\0",
        b"\0alice\0secret\0more",
        b"bob\0alice\0secret",
        b"bob\0alice\0wrong",
        b"\xff\xfe\0\xff\0\xff",
    ):
        handshake(play)
        token(play, data)
        play.reply("the end")


def raw_logins(play: Play) -> None:
    handshake(play, 0)
    play.send_frame(ALICE)
    play.reply("token")
    is_served(play)


def refused_raw_tokens(play: Play) -> None:
    for data in (b"\0alice\0wrong", b"\0nobody\0secret", b"garbage", b"", b"\0\x24\0\1\0\0\0\0\0\0"):
        handshake(play, 0)
        play.send_frame(data)
        play.reply("token")


def unknown_mechanisms(play: Play) -> None:
    for version in (0, 1):
        for mechanism in ("GSSAPI", "plain", "", "SCRAM-SHA-256"):
            handshake(play, version, mechanism)
            play.reply("the end")


def refused_versions_requests(play: Play) -> None:
    for _ in range(2):
        versions(play, 3, client_software_name="")
        versions(play, 3, client_software_name="-x")
        play.send_frame(struct.pack(">hhi", 18, 99, 7) + b"\xff\xff\0")
        play.reply("versions", size=6)
    versions(play, 0)
    handshake(play)
    token(play, ALICE)


def second_versions_request(play: Play) -> None:
    versions(play, 0)
    versions(play, 0)


def versions_request_behind_the_handshake(play: Play) -> None:
    handshake(play)
    versions(play, 0)
    play.reply("the end")


def early_requests(play: Play) -> None:
    for key in (ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.SASL_AUTHENTICATE, ApiKey.HEARTBEAT):
        play.call(key, 1)
        versions(play, 0)
        play.call(key, 1)


def requests_instead_of_tokens(play: Play) -> None:
    for key in (
        ApiKey.HEARTBEAT,
        ApiKey.SYNC_GROUP,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.LIST_GROUPS,
    ):
        handshake(play)
        play.call(key, 0)
        play.reply("the end")


def unknown_versions(play: Play) -> None:
    play.send_frame(struct.pack(">hhih", 17, 2, 7, -1) + b"\0\5PLAIN")
    play.reply("handshake")
    handshake(play)
    play.send_frame(struct.pack(">hhih", 36, 3, 7, -1) + b"\0\0\0\0\0\0")
    play.reply("token")
    handshake(play)
    play.send_frame(struct.pack(">hhih", 1000, 3, 7, -1))
    play.reply("no API")


def garbage(play: Play) -> None:
    for data in (b"\0", b"x" * 20, b"GET / HTTP/1.1\r\n\r\n", bytes(100), b"x" * 1001, b"\xff" * 1000):
        play.send_frame(data)
        play.reply("first")
        versions(play, 0)
        play.send_frame(data)
        play.reply("second")
        handshake(play)
        play.send_frame(data)
        play.reply("third")


def second_logins(play: Play) -> None:
    handshake(play)
    token(play, ALICE)
    for version in (0, 1):
        handshake(play, version)
    token(play, ALICE)
    token(play, b"\0alice\0wrong")
    versions(play, 3)
    is_served(play)


def lifetimes(play: Play) -> None:
    for version in range(3):
        play.call(HANDSHAKE, 1, on=f"v{version}", mechanism="PLAIN")
        play.call(TOKEN, version, on=f"v{version}", auth_bytes=ALICE)


def renewals(play: Play) -> None:
    handshake(play)
    token(play, ALICE)
    handshake(play)
    token(play, ALICE)
    is_served(play)
    handshake(play)  # within a second
    is_served(play)


def renewals_after_the_end(play: Play) -> None:
    handshake(play)
    token(play, ALICE)
    time.sleep(SESSION_MS / 1000 + 0.1)
    handshake(play, 0)
    play.send_frame(ALICE)
    play.reply("token")
    is_served(play)
    time.sleep(SESSION_MS / 1000 + 0.1)
    is_served(play)


def renewals_of_another_kind(play: Play) -> None:
    for data in (BOB, b"\0alice\0wrong", b"garbage"):
        handshake(play)
        token(play, ALICE)
        handshake(play)
        token(play, data)
        play.reply("the end")
    handshake(play)
    token(play, ALICE)
    handshake(play, 1, "GSSAPI")
    handshake(play)
    token(play, ALICE)
    handshake(play)
    is_served(play)
    play.reply("the end")
    handshake(play)
    token(play, ALICE)
    versions(play, 0)
    handshake(play)
    versions(play, 0)
    play.reply("the end")


SCENES: Final[dict[Scene, str]] = {
    logins_of_every_version: "SASL",
    logins_without_versions: "SASL",
    users_of_all_kinds: "SASL",
    refused_tokens: "SASL",
    raw_logins: "SASL",
    refused_raw_tokens: "SASL",
    unknown_mechanisms: "SASL",
    refused_versions_requests: "SASL",
    second_versions_request: "SASL",
    versions_request_behind_the_handshake: "SASL",
    early_requests: "SASL",
    requests_instead_of_tokens: "SASL",
    unknown_versions: "SASL",
    garbage: "SASL",
    second_logins: "SASL",
    lifetimes: "SHORT",
    renewals: "SHORT",
    renewals_after_the_end: "SHORT",
    renewals_of_another_kind: "SHORT",
}
"""The scenes, each with the listener that it is played to."""


@pytest.fixture(scope="module")
def transcripts(brokers: tuple[BrokerProcess, BrokerProcess]) -> Iterator[dict[Scene, Any]]:
    """The transcripts of every scene at Kafka and at ours: all are played at once, since each waits a lot."""
    with ThreadPoolExecutor(2 * len(SCENES)) as threads:
        yield {
            scene: tuple(threads.submit(played_to, broker, listener, scene) for broker in brokers)
            for scene, listener in SCENES.items()
        }


def played_to(broker: BrokerProcess, listener: str, scene: Scene) -> list[Step]:
    """Play a scene to a listener of a broker."""
    return transcript(Play(broker.listeners[listener][1], scene.__name__), scene)


@pytest.mark.thorough("tests/wire/test_logins.py, without a Kafka beside it")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_same_answers(
    transcripts: dict[Scene, tuple[Future[list[Step]], Future[list[Step]]]], scene: Scene
) -> None:
    theirs, mine = (played.result() for played in transcripts[scene])
    insist_on_same(theirs, mine)
