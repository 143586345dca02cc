from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from kcompat.security.client_settings import SETTINGS, ClientAccess, ClientLogin
from kcompat.security.development import Authority

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = ClientAccess("localhost:1", "PLAINTEXT")
SASL = ClientAccess("localhost:1", "SASL_PLAINTEXT", login=ClientLogin("PLAIN", "alice", "secret"))
TLS = ClientAccess("localhost:1", "SSL", "/ca.pem", "/alice.pem")
BOTH = ClientAccess(
    "localhost:1", "SASL_SSL", "/ca.pem", login=ClientLogin("SCRAM-SHA-512", "alice", "secret")
)
SCRAM_LINE = (
    'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="secret";'
)


@pytest.mark.parametrize(
    ("library", "access", "settings"),
    [
        ("confluent", PLAIN, {"bootstrap.servers": "localhost:1", "security.protocol": "PLAINTEXT"}),
        ("java", PLAIN, {"bootstrap.servers": "localhost:1", "security.protocol": "PLAINTEXT"}),
        ("spark", PLAIN, {"kafka.bootstrap.servers": "localhost:1", "kafka.security.protocol": "PLAINTEXT"}),
        ("kafka-python", PLAIN, {"bootstrap_servers": "localhost:1", "security_protocol": "PLAINTEXT"}),
        ("aiokafka", PLAIN, {"bootstrap_servers": "localhost:1", "security_protocol": "PLAINTEXT"}),
        (
            "confluent",
            BOTH,
            {
                "bootstrap.servers": "localhost:1",
                "security.protocol": "SASL_SSL",
                "ssl.ca.location": "/ca.pem",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "alice",
                "sasl.password": "secret",
            },
        ),
        (
            "confluent",
            TLS,
            {
                "bootstrap.servers": "localhost:1",
                "security.protocol": "SSL",
                "ssl.ca.location": "/ca.pem",
                "ssl.certificate.location": "/alice.pem",
                "ssl.key.location": "/alice.pem",
            },
        ),
        (
            "kafka-python",
            BOTH,
            {
                "bootstrap_servers": "localhost:1",
                "security_protocol": "SASL_SSL",
                "ssl_cafile": "/ca.pem",
                "sasl_mechanism": "SCRAM-SHA-512",
                "sasl_plain_username": "alice",
                "sasl_plain_password": "secret",
            },
        ),
        (
            "kafka-python",
            TLS,
            {
                "bootstrap_servers": "localhost:1",
                "security_protocol": "SSL",
                "ssl_cafile": "/ca.pem",
                "ssl_certfile": "/alice.pem",
                "ssl_keyfile": "/alice.pem",
            },
        ),
        (
            "aiokafka",
            SASL,
            {
                "bootstrap_servers": "localhost:1",
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": "alice",
                "sasl_plain_password": "secret",
            },
        ),
        (
            "java",
            BOTH,
            {
                "bootstrap.servers": "localhost:1",
                "security.protocol": "SASL_SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": "/ca.pem",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": SCRAM_LINE,
            },
        ),
        (
            "spark",
            TLS,
            {
                "kafka.bootstrap.servers": "localhost:1",
                "kafka.security.protocol": "SSL",
                "kafka.ssl.truststore.type": "PEM",
                "kafka.ssl.truststore.location": "/ca.pem",
                "kafka.ssl.keystore.type": "PEM",
                "kafka.ssl.keystore.location": "/alice.pem",
            },
        ),
    ],
)
def test_each_library_gets_its_own_names(
    library: str, access: ClientAccess, settings: dict[str, object]
) -> None:
    assert SETTINGS[library](access) == settings


def test_aiokafka_gets_a_context_with_the_authority_and_the_certificate(tmp_path: Path) -> None:
    authority = Authority()
    store = authority.client("alice")
    (tmp_path / "ca.pem").write_text(authority.certificate)
    (tmp_path / "alice.pem").write_text(store.key + store.certificate)
    access = ClientAccess("localhost:1", "SSL", str(tmp_path / "ca.pem"), str(tmp_path / "alice.pem"))
    context = SETTINGS["aiokafka"](access)["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(BOTH)
