from __future__ import annotations

import ssl

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.errors import ConfigError
from kcompat.node.peer_security import insist_on_peer_security, peer_security
from kcompat.peer.client import OPEN
from kcompat.security.bearer.kafka_classes import LOGIN_MODULE as BEARER_MODULE
from kcompat.security.sasl.plain import LOGIN_MODULE
from support.secured_brokers import tls_settings
from support.tls_authority import Authority

JAAS = "listener.name.inside.plain.sasl.jaas.config"
BEARER_JAAS = "listener.name.inside.oauthbearer.sasl.jaas.config"
USABLE = {
    "listeners": "INSIDE://localhost:0,PLAINTEXT://localhost:0",
    "listener.security.protocol.map": "INSIDE:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
    "sasl.enabled.mechanisms": "OAUTHBEARER,PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    JAAS: f'{LOGIN_MODULE} required username="broker" password="hunter2" user_broker="hunter2";',
    BEARER_JAAS: f'{BEARER_MODULE} required unsecuredLoginStringClaim_sub="broker";',
}


def first_token(**changes: str) -> bytes:
    config = BrokerConfig({**USABLE, **changes})
    insist_on_peer_security(config)
    mechanism = peer_security(lambda: config, lambda: 5000)().mechanism
    assert mechanism is not None
    return mechanism.begin().first()


def test_brokers_log_in_with_the_credential_of_their_jaas_line() -> None:
    assert first_token() == b"\0broker\0hunter2"


def test_brokers_log_in_with_tokens_of_their_own_make() -> None:
    message = first_token(**{"sasl.mechanism.inter.broker.protocol": "OAUTHBEARER"})
    assert message.startswith(b"n,,\x01auth=Bearer ey")


@pytest.mark.parametrize("listener", ["PLAINTEXT", "ABSENT"])
def test_a_listener_without_sasl_needs_no_credential(listener: str) -> None:
    config = BrokerConfig({
        "listeners": "PLAINTEXT://localhost:0",
        "security.inter.broker.protocol": "PLAINTEXT" if listener == "PLAINTEXT" else "SSL",
    })  # fmt: skip
    insist_on_peer_security(config)
    assert peer_security(lambda: config, lambda: 0)() == OPEN


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sasl.mechanism.inter.broker.protocol": "GSSAPI"}, "set it to one of OAUTHBEARER, PLAIN"),
        (
            {"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256"},
            "is not among the mechanisms of listener",
        ),
        ({"listener.name.inside.sasl.enabled.mechanisms": "OAUTHBEARER"}, "set it to one of OAUTHBEARER$"),
        ({JAAS: f'{LOGIN_MODULE} required user_broker="hunter2";'}, r"add username=\.\.\. password=\.\.\."),
        ({JAAS: f'{LOGIN_MODULE} required username=broker user_broker="hunter2";'}, "lacks the name and"),
        ({JAAS: "Other required username=broker password=hunter2;"}, "does not name the login module"),
        (
            {
                "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
                BEARER_JAAS: f"{BEARER_MODULE} required;",
            },
            "unsecuredLoginStringClaim_sub",
        ),
    ],
)
def test_what_a_login_lacks_is_said_and_a_broker_alone_does_without(
    changes: dict[str, str], sentence: str
) -> None:
    config = BrokerConfig({**USABLE, **changes})
    with pytest.raises(ConfigError, match=sentence) as raised:
        insist_on_peer_security(config)
    assert "hunter2" not in str(raised.value)
    assert peer_security(lambda: config, lambda: 0)() == OPEN


# TLS

TLS = {"listeners": "SSL://localhost:0", "security.inter.broker.protocol": "SSL"}


@pytest.fixture
def authority() -> Authority:
    return Authority()


def test_brokers_trust_the_store_and_show_the_key_of_their_listener(authority: Authority) -> None:
    settings = {**TLS, **tls_settings(authority, "SSL")}
    security = peer_security(lambda: BrokerConfig(settings), lambda: 0)()
    assert security.mechanism is None
    assert security.tls is not None
    assert security.tls.check_hostname
    assert security.tls.verify_mode is ssl.CERT_REQUIRED
    assert [row["subject"] for row in security.tls.get_ca_certs()]
    unnamed = {**settings, "listener.name.ssl.ssl.endpoint.identification.algorithm": ""}
    unchecked = peer_security(lambda: BrokerConfig(unnamed), lambda: 0)().tls
    assert unchecked is not None
    assert not unchecked.check_hostname


def test_changed_stores_are_read_for_the_next_connection(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {**TLS, **tls_settings(authority, "SSL")}
    config = BrokerConfig(settings)
    current = peer_security(lambda: config, lambda: 0)
    first = current().tls
    assert current().tls is first
    config = BrokerConfig({**settings, "ssl.truststore.certificates": "nothing"})
    assert current().tls is first
    assert current().tls is first
    assert sum("key and trust as before" in message for message in caplog.messages) == 1
    config = BrokerConfig({**settings, "ssl.truststore.certificates": Authority().pem})
    second = current().tls
    assert second is not None
    assert second is not first


def test_a_store_that_cannot_be_read_is_said(authority: Authority) -> None:
    settings = {**TLS, **tls_settings(authority, "SSL")}
    with pytest.raises(ConfigError, match="No such file"):
        insist_on_peer_security(
            BrokerConfig({**settings, "ssl.truststore.certificates": "", "ssl.truststore.location": "/none"})
        )
