from __future__ import annotations

import socket
from itertools import product

import pytest
from cryptography import x509

from kcompat.config.broker import BrokerConfig
from kcompat.config.development import BROKER_USER, with_security
from kcompat.config.errors import ConfigError
from kcompat.security.development import Authority
from kcompat.security.sasl.jaas import parse_jaas

AUTHORITY = Authority()
USERS = {"alice": 'a"b\\c', "bob": "x"}


def secured(values: dict[str, str] | None = None, **security: object) -> BrokerConfig:
    return with_security(BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", **(values or {})}), **security)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("authority", "users", "protocol"),
    [
        (None, None, "PLAINTEXT"),
        (AUTHORITY, None, "SSL"),
        (None, USERS, "SASL_PLAINTEXT"),
        (AUTHORITY, USERS, "SASL_SSL"),
    ],
)
def test_the_listener_has_the_protocol(
    authority: Authority | None, users: dict[str, str] | None, protocol: str
) -> None:
    config = secured(authority=authority, users=users, has_peers=True)
    assert [str(endpoint) for endpoint in config.listeners] == [f"{protocol}://127.0.0.1:0"]
    assert config.inter_broker_listener == protocol


def test_without_anything_the_configuration_stays() -> None:
    assert dict(secured().static) == {"listeners": "PLAINTEXT://127.0.0.1:0"}


def test_what_clients_are_told_has_the_protocol_too() -> None:
    config = secured(
        {"listeners": "PLAINTEXT://:0", "advertised.listeners": "PLAINTEXT://kafka.example:9"}, users=USERS
    )
    assert str(config.advertised["SASL_PLAINTEXT"]) == "SASL_PLAINTEXT://kafka.example:9"


@pytest.mark.parametrize(
    ("values", "more"),
    [
        ({}, set()),
        ({"listeners": "PLAINTEXT://10.0.0.7:0"}, {"10.0.0.7"}),
        ({"listeners": "PLAINTEXT://:0"}, {socket.gethostname()}),
        (
            {"listeners": "PLAINTEXT://0.0.0.0:0", "advertised.listeners": "PLAINTEXT://kafka.example:9"},
            {socket.gethostname(), "kafka.example"},
        ),
    ],
)
def test_the_certificate_is_for_every_host_at_which_clients_connect(
    values: dict[str, str], more: set[str]
) -> None:
    text = secured(values, authority=AUTHORITY).string("ssl.keystore.certificate.chain")
    certificate = x509.load_pem_x509_certificate(text.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    hosts = {str(name.value) for name in names}
    assert hosts == {"localhost", "127.0.0.1", "::1"} | more


def test_clients_may_show_certificates_where_they_cannot_log_in_otherwise() -> None:
    asked = [secured(authority=AUTHORITY, users=users).get("ssl.client.auth") for users in (None, USERS)]
    assert asked == ["requested", "none"]


def test_users_are_in_the_login_line() -> None:
    config = secured(users=USERS)
    line = config.given["listener.name.sasl_plaintext.plain.sasl.jaas.config"]
    assert line == (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        r'user_alice="a\"b\\c" user_bob="x";'
    )
    assert config.strings("sasl.enabled.mechanisms") == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


def test_brokers_log_in_to_each_other_with_a_password_of_this_run() -> None:
    lines = []
    for _ in range(2):
        config = secured(users=USERS, has_peers=True)
        login = parse_jaas(config.given["listener.name.sasl_plaintext.plain.sasl.jaas.config"])
        options = dict(login.options)
        assert options.pop("username") == BROKER_USER
        assert options.pop(f"user_{BROKER_USER}") == options["password"]
        lines.append(options.pop("password"))
        assert options == {"user_alice": USERS["alice"], "user_bob": USERS["bob"]}
    assert len(set(lines)) == 2


@pytest.mark.parametrize(
    ("values", "has_peers", "expected"),
    [
        ({}, False, None),
        ({"super.users": "User:root"}, False, "User:root"),
        ({}, True, f"User:{BROKER_USER}"),
        ({"super.users": "User:root"}, True, f"User:root;User:{BROKER_USER}"),
    ],
)
def test_an_authorizer_lets_other_brokers_do_everything(
    values: dict[str, str], has_peers: bool, expected: str | None
) -> None:
    config = secured(values, users=USERS, has_authorizer=True, has_peers=has_peers)
    assert config.given.get("super.users") == expected
    assert config.string("authorizer.class.name") == "kafka.security.authorizer.AclAuthorizer"


def test_keys_that_are_set_keep_their_values() -> None:
    values = {"ssl.client.auth": "required", "sasl.enabled.mechanisms": "PLAIN"}
    for authority, users in product((AUTHORITY,), (None, USERS)):
        config = secured(values, authority=authority, users=users)
        assert values.items() <= config.static.items()


@pytest.mark.parametrize("listeners", ["PLAINTEXT://:1,OTHER://:2", "SSL://:1", "OTHER://:1"])
def test_other_listeners_are_refused(listeners: str) -> None:
    values = {
        "listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,OTHER:PLAINTEXT",
    }
    with pytest.raises(ConfigError, match="takes the place of a single listener that is PLAINTEXT"):
        secured(values, users=USERS)
