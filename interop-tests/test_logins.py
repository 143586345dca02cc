"""Clients of each family that log in: with the right password, with a wrong one, and as an unknown user.

A row of `ROWS` is a client, a mechanism and a protocol. ``--target=kafka`` plays them to a real Kafka.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

from drivers.families import CLIENTS, Families
from drivers.logins import LoginFailedError, MissingError, confluent, kafka_python
from kcompat.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcompat.security.client_settings import SETTINGS, ClientAccess, ClientLogin
from kcompat.security.credentials import SCRAM_MECHANISMS
from kcompat.security.login_lines import login_line
from kcompat.security.scram_keys import salted_password
from real_kafka import RealKafka, properties_text
from support.eventually import limit_s
from support.kafka_jars import jvm
from support.places import CACHE
from support.raw_client import RawClient
from support.raw_requests import create_topic
from support.tls_authority import Authority, as_pem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from drivers.families import ListTopics
    from support.broker_process import BrokerProcess

TOPIC: Final = "seen-by-those-who-log-in"
USER, PASSWORD = "alice", 'a "secret" \\of 20; char/acters ü'  # librdkafka 2.0 takes no "=" and "," in SCRAM
LISTENERS: Final = {"SASL_PLAINTEXT": "SASL_PLAINTEXT", "SASL_SSL": "SASL_SSL"}
SESSIONS: Final = {"SHORT": "SASL_PLAINTEXT", "SHORT_SSL": "SASL_SSL"}
"""Listeners whose sessions end after `session_s` seconds, unless the client logs in again."""
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

THOROUGH: Final = pytest.mark.thorough("a client of each family logs in by PLAIN without TLS")
REFUSED: Final = {
    "kafka-python": "Authentication failed",
    "aiokafka": "Authentication failed",
    "confluent": "_AUTHENTICATION",
    "kcat": "Authentication failed",
    "kafkajs": "KafkaJSSASLAuthenticationError",
    "franz-go": "SASL_AUTHENTICATION_FAILED",
    "sarama": "SASL",
    "kafka-go": "SASL Authentication failed",
    "kafka-python-2.0.2": "NoBrokersAvailable",
    "confluent-2.0.2": "_AUTHENTICATION",
    "java-0.10.2.2": "TimeoutException",  # before 1.0 a client is not told that its login is refused
    "java-1.1.1": "Authentication failed",
    "java-2.8.2": "Authentication failed",
    "java-3.9.2": "Authentication failed",
    "java-4.3.0": "Authentication failed",
}
"""Part of what each client says of a refused login."""

EXPIRED: Final = "has not logged in again"
"""Part of what our broker logs of a client whose session has ended."""

QUICK: Final = frozenset({"kafka-python", "aiokafka", "confluent", "kafkajs", "franz-go", "java-3.9.2"})
"""Clients that `make test` lets log in, each by one mechanism at one listener."""


def is_quick(client: str, mechanism: str, protocol: str) -> bool:
    """Return whether a row belongs to `make test`."""
    return client in QUICK and (mechanism, protocol) == ("PLAIN", "SASL_PLAINTEXT")


ROWS: Final = [
    pytest.param(
        client,
        mechanism,
        protocol,
        id=f"{client}-{mechanism}-{protocol}",
        marks=() if is_quick(client, mechanism, protocol) else THOROUGH,
    )
    for protocol in LISTENERS
    for mechanism in MECHANISMS
    for client in CLIENTS
]


def properties(key_store: Path, session_s: float) -> dict[str, str]:
    """The settings of the listeners, the same for Kafka and for kcompat."""
    settings = {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(key_store),
    }
    for name in (*LISTENERS, *SESSIONS):
        prefix = f"listener.name.{name.lower()}"
        for mechanism in MECHANISMS:
            options = {f"user_{USER}": PASSWORD} if mechanism == "PLAIN" else {}
            line = login_line(mechanism, options)
            settings[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = line
    for name in SESSIONS:
        settings[f"listener.name.{name.lower()}.connections.max.reauth.ms"] = str(round(1000 * session_s))
    return settings


def add_scram_users(client: RawClient) -> None:
    """Create the user for the SCRAM mechanisms: one after the other, since Kafka takes one a request."""
    for mechanism in SCRAM_MECHANISMS:
        salted = salted_password(mechanism, PASSWORD, b"salt", 4096)
        upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
            USER, mechanism.type, 4096, b"salt", salted
        )
        answer = client.call(AlterUserScramCredentialsRequest(upsertions=[upsertion]), 0)
        assert answer.results[0].error_code == 0


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The PEM files of the broker's key store and of the authority that clients trust."""
    authority, directory = Authority(), tmp_path_factory.mktemp("certificates")
    key_store = directory / "broker.pem"
    key_store.write_bytes(as_pem(authority.broker))
    return key_store, authority.trust_in(directory)


@pytest.fixture(scope="module")
def session_s() -> float:
    """Clients renew a session in its last 5 to 15 %, which must be long enough for a busy machine."""
    return min(limit_s(3), 9)


@pytest.fixture(scope="module")
def broker(
    new_broker: Callable[..., BrokerProcess], authority: tuple[Path, Path], session_s: float
) -> Iterator[BrokerProcess]:
    settings = properties(authority[0], session_s)
    with new_broker(properties=settings, listeners=LISTENERS | SESSIONS) as broker:
        with RawClient((broker.host, broker.port)) as client:
            assert create_topic(client, TOPIC) == 0
            add_scram_users(client)
        yield broker
        assert broker.is_running(), broker.log_tail()
        assert "Traceback" not in broker.log_path.read_text(), broker.log_tail(8000)
        assert PASSWORD not in broker.log_path.read_text()


@pytest.fixture
def renewed(broker: BrokerProcess) -> Iterator[None]:
    """In this test no connection is closed for want of a renewed session."""
    before = broker.log_path.read_text().count(EXPIRED)
    yield
    assert broker.log_path.read_text().count(EXPIRED) == before, "the client has logged in again in time"


@pytest.fixture(scope="module")
def client_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], ListTopics]]:
    """The function that lists the topics with a client."""
    with Families(tmp_path_factory.mktemp) as families:
        yield families.client


def access_to(
    broker: BrokerProcess,
    authority: tuple[Path, Path],
    mechanism: str,
    listener: str,
    user: str,
    password: str,
) -> ClientAccess:
    """Return what a client needs to log in at a listener."""
    protocol = (LISTENERS | SESSIONS)[listener]
    ca = str(authority[1]) if protocol.endswith("_SSL") else None
    login = ClientLogin(mechanism, user, password)
    return ClientAccess(broker.bootstrap_of(listener), protocol, ca, login=login)


@pytest.mark.parametrize(("name", "mechanism", "protocol"), ROWS)
def test_logins(
    broker: BrokerProcess,
    authority: tuple[Path, Path],
    client_of: Callable[[str], ListTopics],
    name: str,
    mechanism: str,
    protocol: str,
) -> None:
    access = partial(access_to, broker, authority, mechanism, protocol)
    try:
        client = client_of(name)
        assert TOPIC in client(access(USER, PASSWORD))
    except MissingError as missing:
        pytest.skip(str(missing))
    for user, password in ((USER, "wrong"), ("nobody", PASSWORD)):
        with pytest.raises(LoginFailedError) as refusal:
            client(access(user, password))
        said = str(refusal.value)
        # kafka-python drops an answer that it reads together with the end of the stream.
        is_lost = name == "kafka-python" and isinstance(broker, RealKafka) and "disconnected" in said
        assert REFUSED[name] in said or is_lost


@pytest.mark.usefixtures("renewed")
@pytest.mark.thorough("tests/wire/test_logins.py renews sessions by raw frames")
@pytest.mark.parametrize("client", [kafka_python, confluent])  # aiokafka does not log in again
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
@pytest.mark.parametrize("listener", SESSIONS)
def test_sessions_that_end_are_noticed_by_no_client(
    broker: BrokerProcess,
    authority: tuple[Path, Path],
    client: Callable[[ClientAccess, float], list[str]],
    mechanism: str,
    listener: str,
    session_s: float,
) -> None:
    access = access_to(broker, authority, mechanism, listener, USER, PASSWORD)
    assert TOPIC in client(access, 2.5 * session_s)


@pytest.mark.usefixtures("renewed")
@pytest.mark.thorough("tests/wire/test_logins.py renews sessions by raw frames")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
@pytest.mark.parametrize("listener", SESSIONS)
@pytest.mark.parametrize("release", ["3.9.2", "4.3.0"])
def test_sessions_that_end_are_noticed_by_no_producer_in_java(
    broker: BrokerProcess,
    authority: tuple[Path, Path],
    tmp_path: Path,
    mechanism: str,
    listener: str,
    release: str,
    session_s: float,
) -> None:
    """The tool sends ten records a second until its sessions have ended twice."""
    if shutil.which("javac") is None or not (CACHE / f"kafka-{release}" / "libs").is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    access = access_to(broker, authority, mechanism, listener, USER, PASSWORD)
    config = tmp_path / "client.properties"
    config.write_text(properties_text(SETTINGS["java"](access)))
    count = round(2.5 * session_s * 10)
    words = ["--bootstrap-server", access.bootstrap_servers, "--topic", TOPIC, "--throughput", "10"]
    words += ["--max-messages", str(count), "--producer.config", str(config), "--acks", "1"]
    done = subprocess.run(
        [*jvm(release), "org.apache.kafka.tools.VerifiableProducer", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_s(60),
    )
    said = [json.loads(line)["name"] for line in done.stdout.splitlines() if line.startswith("{")]
    assert said.count("producer_send_success") == count, done.stdout[-2000:] + done.stderr[-2000:]
    assert "producer_send_error" not in said
