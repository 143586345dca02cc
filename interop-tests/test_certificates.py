"""Clients of each family over SSL and SASL_SSL: what their certificates let them see, and what is refused.

The topic may be described by alice alone. So a client that sees it has the name in its certificate, and one
that sees nothing has come in under another. ``--target=kafka`` plays the tests to a real Kafka.
"""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import pytest

from drivers.families import CLIENTS, Families
from drivers.logins import LoginFailedError, MissingError
from kcompat.protocol.messages.create_acls import CreateAclsRequest
from kcompat.security.client_settings import ClientAccess, ClientLogin
from kcompat.security.login_lines import login_line
from support.eventually import eventually, limit_s
from support.kafka_jars import jvm
from support.places import CACHE
from support.raw_client import RawClient
from support.raw_requests import create_topic
from support.tls_authority import HOSTS, Authority, as_pem
from tool_bench import CLASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from drivers.families import ListTopics
    from support.broker_process import BrokerProcess

TOPIC: Final = "for-alice-alone"
LISTENERS: Final = {"SSL": "SSL", "MUTUAL": "SSL", "SASL_SSL": "SASL_SSL", "EXPIRED": "SSL"}
PASSWORD: Final = "opensesame"
TOPICS, LITERAL, DESCRIBE, ALLOW = 2, 3, 8, 3
QUICK: Final = frozenset({"confluent", "franz-go", "java-3.9.2", "kafka-python"})
"""Clients that `make test` lets show a certificate."""

UNVERIFIED: Final = "certificate verify failed"
OPENSSL: Final = (f"{UNVERIFIED}: certificate has expired", f"{UNVERIFIED}: unable to get local issuer")
GO: Final = ("certificate has expired", "certificate signed by unknown authority")
DISTRUST: Final = {
    "kafka-python": OPENSSL,
    "aiokafka": OPENSSL,
    "confluent": (UNVERIFIED, UNVERIFIED),
    "kcat": (UNVERIFIED, UNVERIFIED),
    "kafkajs": ("certificate has expired", "unable to verify the first certificate"),
    "franz-go": GO,
    "sarama": GO,
    "kafka-go": GO,
    "kafka-python-2.0.2": OPENSSL,
    "confluent-2.0.2": (UNVERIFIED, UNVERIFIED),
    "java-0.10.2.2": ("TimeoutException", "TimeoutException"),
    "java-1.1.1": ("validity check failed", "unable to find valid certification path"),
    "java-2.8.2": ("validity check failed", "unable to find valid certification path"),
    "java-3.9.2": ("validity check failed", "unable to find valid certification path"),
    "java-4.3.0": ("SSL handshake failed", "SSL handshake failed"),
}
"""Part of what each client says of an expired certificate of the server, and of one of another authority."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The PEM files of the broker, of its authority and of clients, by name."""
    authority, other = Authority(), Authority()
    yesterday = datetime.now(UTC) - timedelta(days=1)
    contents = {
        "broker": as_pem(authority.broker),
        "expired-broker": as_pem(authority.ca.issue_cert(*HOSTS, not_after=yesterday)),
        "ca": authority.pem.encode(),
        "alice": as_pem(authority.client("alice")),
        "bob": as_pem(authority.client("bob")),
        "expired": as_pem(authority.client("alice", not_after=yesterday)),
        "stranger": as_pem(other.client("alice")),
        "other-ca": other.pem.encode(),
    }
    directory = tmp_path_factory.mktemp("certificates")
    for name, content in contents.items():
        (directory / f"{name}.pem").write_bytes(content)
    return {name: directory / f"{name}.pem" for name in contents}


@pytest.fixture(scope="module")
def broker(new_broker: Callable[..., BrokerProcess], files: dict[str, Path]) -> Iterator[BrokerProcess]:
    properties = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files["broker"]),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(files["ca"]),
        "ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/",
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.expired.ssl.keystore.type": "PEM",
        "listener.name.expired.ssl.keystore.location": str(files["expired-broker"]),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": login_line("PLAIN", {"user_alice": PASSWORD}),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with new_broker(properties=properties, listeners=LISTENERS) as broker:
        with RawClient((broker.host, broker.port)) as client:
            assert create_topic(client, TOPIC) == 0
            acl = CreateAclsRequest.AclCreation(TOPICS, TOPIC, LITERAL, "User:alice", "*", DESCRIBE, ALLOW)
            assert client.call(CreateAclsRequest(creations=[acl]), 2).results[0].error_code == 0
        yield broker
        assert broker.is_running(), broker.log_tail()
        assert "Traceback" not in broker.log_path.read_text(), broker.log_tail(8000)


@pytest.fixture(scope="module")
def client_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], ListTopics]]:
    """The function that returns a client, which lists the topics; the test is skipped where it is missing."""
    with Families(tmp_path_factory.mktemp) as families:

        def client(name: str) -> ListTopics:
            listed = families.client(name)

            def topics(access: ClientAccess) -> list[str]:
                try:
                    return listed(access)
                except MissingError as missing:
                    pytest.skip(str(missing))

            return topics

        yield client


def access_to(
    broker: BrokerProcess, listener: str, ca: Path, certificate: Path | None = None
) -> ClientAccess:
    """Return what a client needs at a listener."""
    own = None if certificate is None else str(certificate)
    login = ClientLogin("PLAIN", "alice", PASSWORD) if listener.startswith("SASL_") else None
    return ClientAccess(broker.bootstrap_of(listener), LISTENERS[listener], str(ca), own, login)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.thorough("a client of each kind"))
        for name in CLIENTS
    ],
)
def test_a_certificate_names_its_client(
    broker: BrokerProcess, files: dict[str, Path], client_of: Callable[[str], ListTopics], name: str
) -> None:
    client = client_of(name)
    assert TOPIC in client(access_to(broker, "MUTUAL", files["ca"], files["alice"]))
    assert TOPIC not in client(access_to(broker, "MUTUAL", files["ca"], files["bob"]))


@pytest.mark.thorough("clients that show certificates")
@pytest.mark.parametrize("name", CLIENTS)
def test_what_is_not_trusted_is_refused(
    broker: BrokerProcess, files: dict[str, Path], client_of: Callable[[str], ListTopics], name: str
) -> None:
    client = client_of(name)
    for certificate in (files["expired"], files["stranger"], None):
        with pytest.raises(LoginFailedError):
            client(access_to(broker, "MUTUAL", files["ca"], certificate))
    assert TOPIC in client(access_to(broker, "MUTUAL", files["ca"], files["alice"])), "it goes on"


@pytest.mark.thorough("clients that show certificates")
@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize(("case", "listener", "ca"), [(0, "EXPIRED", "ca"), (1, "SSL", "other-ca")])
def test_a_client_says_that_it_does_not_trust_the_server(
    broker: BrokerProcess,
    files: dict[str, Path],
    client_of: Callable[[str], ListTopics],
    name: str,
    case: int,
    listener: str,
    ca: str,
) -> None:
    client = client_of(name)
    with pytest.raises(LoginFailedError) as refusal:
        client(access_to(broker, listener, files[ca]))
    assert DISTRUST[name][case] in str(refusal.value)
    assert TOPIC in client(access_to(broker, "SSL", files["ca"])), "the broker goes on"


@pytest.mark.thorough("clients that show certificates")
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_without_a_certificate_is_anonymous_or_logs_in(
    broker: BrokerProcess, files: dict[str, Path], client_of: Callable[[str], ListTopics], name: str
) -> None:
    client = client_of(name)
    assert TOPIC in client(access_to(broker, "SSL", files["ca"])), "User:ANONYMOUS is a super user"
    assert TOPIC in client(access_to(broker, "SASL_SSL", files["ca"]))


@pytest.mark.thorough("clients of later releases")
def test_the_first_java_client_with_tls(
    broker: BrokerProcess, files: dict[str, Path], client_of: Callable[[str], ListTopics]
) -> None:
    """Kafka 0.9 has TLS, and of SASL only Kerberos."""
    client = client_of("java-0.9.0.1")
    assert TOPIC in client(access_to(broker, "SSL", files["ca"]))
    assert TOPIC in client(access_to(broker, "MUTUAL", files["ca"], files["alice"]))
    assert TOPIC not in client(access_to(broker, "MUTUAL", files["ca"], files["bob"]))
    for certificate in (files["expired"], files["stranger"], None):
        with pytest.raises(LoginFailedError):
            client(access_to(broker, "MUTUAL", files["ca"], certificate))


@pytest.mark.thorough("tests/wire/test_tls_broker.py, by raw requests")
@pytest.mark.parametrize("release", ["3.9.2", "4.3.0"])
def test_kafkas_tool_renews_a_certificate(
    new_broker: Callable[..., BrokerProcess], tmp_path: Path, release: str
) -> None:
    """A file of the same name is read again too; a certificate for fewer hosts is refused."""
    if shutil.which("javac") is None or not (CACHE / f"kafka-{release}" / "libs").is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    authority, store = Authority(), tmp_path / "broker.pem"
    store.write_bytes(as_pem(authority.broker))
    properties = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}
    key = "listener.name.ssl.ssl.keystore.location"
    with new_broker(
        properties=properties | {"ssl.allow.dn.changes": "true"}, listeners={"SSL": "SSL"}
    ) as broker:

        def serial() -> object:
            address = (broker.host, broker.listeners["SSL"][1])
            with RawClient(address, tls=authority.client_context()) as client:
                return client._socket.getpeercert()["serialNumber"]  # type: ignore[attr-defined]

        def alter(path: Path) -> str:
            words = ["--alter", "--entity-type", "brokers", "--entity-name", "1"]
            words += ["--add-config", f"{key}={path}"]
            command = [*jvm(release), CLASSES["configs"], "--bootstrap-server", broker.bootstrap, *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s(60))
            return done.stdout + done.stderr

        seen = [serial()]
        for path in (tmp_path / "new.pem", tmp_path / "new.pem"):
            path.write_bytes(as_pem(authority.ca.issue_cert(*HOSTS)))
            assert "Completed updating config for broker 1." in alter(path)
            eventually(lambda: serial() not in seen, "new connections are shown the new certificate")
            seen.append(serial())
        (tmp_path / "fewer.pem").write_bytes(as_pem(authority.ca.issue_cert(HOSTS[0])))
        assert "InvalidRequestException" in alter(tmp_path / "fewer.pem")
        assert serial() == seen[-1]
