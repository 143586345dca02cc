from __future__ import annotations

import base64
import json
import ssl
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.errors import ConfigError
from kcompat.node.peer_security import insist_on_peer_security, peer_security
from kcompat.peer.client import OPEN
from kcompat.security.login_lines import BEARER_MODULE, FETCHED_LOGINS, PLAIN_MODULE
from kcompat.security.sasl.mechanism import SaslError
from support.bearer_tokens import unsecured_token
from support.eventually import eventually
from support.secured_brokers import tls_settings
from support.tls_authority import Authority

if TYPE_CHECKING:
    from pathlib import Path

JAAS = "listener.name.inside.plain.sasl.jaas.config"
BEARER_JAAS = "listener.name.inside.oauthbearer.sasl.jaas.config"
USABLE = {
    "listeners": "INSIDE://localhost:0,PLAINTEXT://localhost:0",
    "listener.security.protocol.map": "INSIDE:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
    "sasl.enabled.mechanisms": "OAUTHBEARER,PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    JAAS: f'{PLAIN_MODULE} required username="broker" password="hunter2" user_broker="hunter2";',
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
        ({JAAS: f'{PLAIN_MODULE} required user_broker="hunter2";'}, r"add username=\.\.\. password=\.\.\."),
        ({JAAS: f'{PLAIN_MODULE} required username=broker user_broker="hunter2";'}, "lacks the name and"),
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


# Tokens of an identity provider

HANDLER = "listener.name.inside.oauthbearer.sasl.login.callback.handler.class"
URL = "sasl.oauthbearer.token.endpoint.url"
CREDENTIALS = f'{BEARER_MODULE} required clientId="broker" clientSecret="hunter2" scope="all";'
FETCHED = {
    "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
    HANDLER: FETCHED_LOGINS[0],
    BEARER_JAAS: CREDENTIALS,
}


def test_brokers_log_in_with_a_token_of_a_file(tmp_path: Path) -> None:
    token, path = unsecured_token(sub="broker", exp=9_999_999_999), tmp_path / "token"
    path.write_text(f"{token}\n")
    config = BrokerConfig({**USABLE, **FETCHED, URL: path.as_uri()})
    mechanism = peer_security(lambda: config, lambda: 5000)().mechanism
    assert mechanism is not None

    def first() -> bytes | None:
        with suppress(SaslError):
            return mechanism.begin().first()
        return None

    assert eventually(first, "the token is read") == f"n,,\x01auth=Bearer {token}\x01\x01".encode()


def test_brokers_get_a_token_with_their_credentials() -> None:
    asked: list[tuple[str | None, bytes]] = []
    token = unsecured_token(sub="broker", exp=9_999_999_999)

    class Issuing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.headers["Authorization"], body))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"access_token": token}).encode())

        def log_message(self, *_: object) -> None:
            """Write no log."""

    with HTTPServer(("127.0.0.1", 0), Issuing) as server:
        config = BrokerConfig({**USABLE, **FETCHED, URL: f"http://127.0.0.1:{server.server_port}/token"})
        mechanism = peer_security(lambda: config, lambda: 5000)().mechanism
        assert mechanism is not None
        with pytest.raises(SaslError):
            mechanism.begin().first()
        server.handle_request()

    def first() -> bytes | None:
        with suppress(SaslError):
            return mechanism.begin().first()
        return None

    assert eventually(first, "the token has come") == f"n,,\x01auth=Bearer {token}\x01\x01".encode()
    credentials = base64.b64encode(b"broker:hunter2").decode()
    assert asked == [(f"Basic {credentials}", b"grant_type=client_credentials&scope=all")]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "need listener.name.inside.oauthbearer.sasl.oauthbearer.token.endpoint.url"),
        ({URL: "ftp://id.example"}, "are supported"),
        (
            {URL: "https://id.example", BEARER_JAAS: f"{BEARER_MODULE} required;"},
            "lacks clientId and",
        ),
    ],
)
def test_what_a_token_lacks_is_said(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        insist_on_peer_security(BrokerConfig({**USABLE, **FETCHED, **changes}))
    assert sentence in str(raised.value)
    assert "hunter2" not in str(raised.value)


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
