from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api.authentication import LoginGate
from kcompat.config.broker import BrokerConfig
from kcompat.errors import ConfigError
from kcompat.node.lifetime import Lifetime
from kcompat.node.logins import login_gates, offers_scram, prepare_logins
from kcompat.security.login_lines import (
    BEARER_MODULE,
    PLAIN_MODULE,
    SCRAM_MODULE,
    SIGNED_VALIDATORS,
    UNSECURED_VALIDATOR,
)
from kcompat.security.sasl.oauthbearer import OAuthBearer
from support.asking import services_of
from support.bearer_tokens import TokenIssuer, unsecured_token
from support.eventually import eventually
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

SASL = "listener.name.sasl_plaintext"
USABLE = {
    "listeners": "SASL_PLAINTEXT://localhost:0",
    "sasl.enabled.mechanisms": "PLAIN",
    f"{SASL}.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="hunter2";',
}


def gate_of(**changes: str) -> Any:
    config = BrokerConfig({**USABLE, **changes})
    logins, services = prepare_logins(config), services_of(clock=VirtualClock())
    return login_gates(config, logins, services, Any, Lifetime())["SASL_PLAINTEXT"]  # type: ignore[arg-type]


def test_a_sasl_listener_gets_a_gate() -> None:
    config = BrokerConfig({
        **USABLE,
        "listeners": "SASL_PLAINTEXT://localhost:0,PLAINTEXT://localhost:0",
    })  # fmt: skip
    gates = login_gates(config, prepare_logins(config), services_of(clock=VirtualClock()), Any, Lifetime())  # type: ignore[arg-type]
    assert list(gates) == ["SASL_PLAINTEXT"]
    assert isinstance(gates["SASL_PLAINTEXT"], LoginGate)


def test_a_jaas_line_of_plain_without_users_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    gate_of()
    assert not caplog.messages
    gate_of(**{f"{SASL}.plain.sasl.jaas.config": f'{PLAIN_MODULE} required alice="hunter2";'})
    assert "nobody can log in by PLAIN: name users in listener.name.sasl_plaintext.plain." in caplog.text
    assert "hunter2" not in caplog.text


def test_a_broker_without_sasl_has_no_gates() -> None:
    config = BrokerConfig()
    assert login_gates(config, prepare_logins(config), services_of(), Any, Lifetime()) == {}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"sasl.enabled.mechanisms": "GSSAPI"},
            "offers GSSAPI, which kcompat does not support: set listener",
        ),
        (
            {"sasl.enabled.mechanisms": "PLAIN,LDAP"},
            "offers LDAP, which kcompat does not support: set listener",
        ),
        (
            {"sasl.enabled.mechanisms": ""},
            "offers no mechanism: set listener.name.sasl_plaintext.sasl.enabled",
        ),
        ({f"{SASL}.sasl.enabled.mechanisms": "GSSAPI"}, "offers GSSAPI"),
        ({f"{SASL}.plain.sasl.jaas.config": ""}, "does not begin with the class of a login module"),
        ({f"{SASL}.plain.sasl.jaas.config": "user_a=hunter2"}, "jaas.config has none of required"),
        (
            {f"{SASL}.plain.sasl.jaas.config": "Other required user_a=hunter2;"},
            "does not name the login module",
        ),
    ],
)
def test_a_listener_at_which_nobody_can_log_in_is_refused(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as refusal:
        prepare_logins(BrokerConfig({**USABLE, **changes}))
    assert "hunter2" not in str(refusal.value)


def test_a_missing_jaas_line_is_named() -> None:
    config = {name: text for name, text in USABLE.items() if "jaas" not in name}
    for more in ({}, {"sasl.jaas.config": USABLE[f"{SASL}.plain.sasl.jaas.config"]}):
        with pytest.raises(
            ConfigError, match=r"set listener\.name\.sasl_plaintext\.plain\.sasl\.jaas\.config="
        ):
            prepare_logins(BrokerConfig({**config, **more}))


def test_mechanisms_are_offered_once_in_the_order_of_the_setting() -> None:
    config = BrokerConfig({**USABLE, "sasl.enabled.mechanisms": "PLAIN,PLAIN"})
    assert list(prepare_logins(config)["SASL_PLAINTEXT"]) == ["PLAIN"]


def test_the_names_of_mechanisms_are_those_that_clients_send() -> None:
    config = BrokerConfig(USABLE)
    plain = prepare_logins(config)["SASL_PLAINTEXT"]["PLAIN"](services_of(), Lifetime())
    assert plain.name == "PLAIN"


def test_settings_of_a_listener_and_of_its_mechanism_count_more() -> None:
    gate = gate_of(**{
        "sasl.server.max.receive.size": "1000",
        f"{SASL}.sasl.server.max.receive.size": "2000",
        "connections.max.reauth.ms": "1",
        f"{SASL}.connections.max.reauth.ms": "2",
        f"{SASL}.plain.connections.max.reauth.ms": "3",
        "connection.failed.authentication.delay.ms": "7",
    })  # fmt: skip
    assert gate.max_frame == 2000
    assert gate._settings.offered["PLAIN"].max_session_ms == 3
    assert gate._settings.failure_delay_ms == 7
    assert (
        gate_of(**{f"{SASL}.connections.max.reauth.ms": "2"})._settings.offered["PLAIN"].max_session_ms == 2
    )


@pytest.mark.parametrize(("size", "largest"), [("0", 0), ("-5", 0), ("-1", 7000)])
def test_a_frame_of_a_login_may_have_no_bytes_or_as_many_as_any_request(size: str, largest: int) -> None:
    gate = gate_of(**{"sasl.server.max.receive.size": size, "socket.request.max.bytes": "7000"})
    assert gate.max_frame == largest


# OAUTHBEARER

OAUTH = f"{SASL}.oauthbearer"
SKEW = "unsecuredValidatorAllowableClockSkewMs"
SIGNED = {f"{OAUTH}.sasl.server.callback.handler.class": SIGNED_VALIDATORS[0]}


def bearer(**changes: str) -> OAuthBearer:
    """Return the mechanism of a listener with these settings."""
    given = {
        "listeners": "SASL_PLAINTEXT://localhost:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{OAUTH}.sasl.jaas.config": f"{BEARER_MODULE} required;",
        **changes,
    }
    config = BrokerConfig(given)
    make = prepare_logins(config)["SASL_PLAINTEXT"]["OAUTHBEARER"]
    mechanism = make(services_of(clock=VirtualClock()), Lifetime())
    assert isinstance(mechanism, OAuthBearer)
    return mechanism


@pytest.mark.parametrize("named", [{}, {f"{OAUTH}.sasl.server.callback.handler.class": UNSECURED_VALIDATOR}])
def test_unsecured_tokens_are_the_default_of_kafka_and_warned_about(
    named: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    line = f'{BEARER_MODULE} required unsecuredValidatorPrincipalClaimName="who";'
    negotiation = bearer(**named, **{f"{OAUTH}.sasl.jaas.config": line}).begin()
    token = unsecured_token(who="alice", exp=VirtualClock().now_ms() // 1000 + 9)
    assert negotiation.respond(f"n,,\x01auth=Bearer {token}\x01\x01".encode()) == b""
    assert negotiation.login is not None
    assert negotiation.login.principal.name == "alice"
    assert "takes unsecured tokens" in caplog.text


def test_signed_tokens_are_checked_with_the_key_set_of_the_setting(tmp_path: Path) -> None:
    issuer, lifetime = TokenIssuer(), Lifetime()
    path = tmp_path / "keys.json"
    path.write_bytes(issuer.key_set())
    clock = VirtualClock()
    config = BrokerConfig({
        "listeners": "SASL_PLAINTEXT://localhost:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{OAUTH}.sasl.jaas.config": f"{BEARER_MODULE} required;",
        f"{OAUTH}.sasl.oauthbearer.jwks.endpoint.url": path.as_uri(),
        f"{SASL}.sasl.oauthbearer.expected.audience": "kafka,all",
        "sasl.oauthbearer.expected.issuer": "https://id.example",
        "sasl.oauthbearer.sub.claim.name": "client",
        **SIGNED,
    })  # fmt: skip
    make = prepare_logins(config)["SASL_PLAINTEXT"]["OAUTHBEARER"]
    mechanism = make(services_of(clock=clock), lifetime)
    now_s = clock.now_ms() // 1000

    def answer(**claims: object) -> bytes:
        given: dict[str, Any] = {
            "client": "bob",
            "iat": now_s,
            "exp": now_s + 9,
            "iss": "https://id.example",
            "aud": "all",
        }
        token = issuer.token(**{**given, **claims})
        return mechanism.begin().respond(f"n,,\x01auth=Bearer {token}\x01\x01".encode())

    refused = b'{"status":"invalid_token"}'
    assert answer() == refused  # without a key set nobody is let in

    def is_let_in() -> bool:
        clock.advance()
        return answer() == b""

    eventually(is_let_in, "the key set is fetched")
    assert answer(aud="other") == refused
    assert answer(iss="https://other.example") == refused
    assert answer(exp=now_s - 31) == refused
    lifetime.abandon()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (SIGNED, r"need listener\.name\.sasl_plaintext\.oauthbearer\.sasl\.oauthbearer\.jwks\.endpoint\.url"),
        ({**SIGNED, "sasl.oauthbearer.jwks.endpoint.url": "ftp://id.example"}, "http"),
        ({f"{OAUTH}.sasl.server.callback.handler.class": "a.B"}, "must be one of"),
        ({f"{OAUTH}.sasl.jaas.config": f"{PLAIN_MODULE} required;"}, "does not name the login module"),
        (
            {f"{OAUTH}.sasl.jaas.config": f"{BEARER_MODULE} required {SKEW}=x;"},
            "no number of milliseconds",
        ),
    ],
)
def test_tokens_that_cannot_be_checked_are_refused(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        bearer(**changes)


# SCRAM

SCRAM = {
    "listeners": "SASL_PLAINTEXT://localhost:0,PLAINTEXT://localhost:0",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
}


@pytest.mark.parametrize(
    "jaas",
    [{}, {f"{SASL}.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required username=a password=b;"}],
)
def test_scram_needs_no_setting_but_its_name(jaas: dict[str, str]) -> None:
    config = BrokerConfig({**SCRAM, **jaas})
    logins = prepare_logins(config)
    assert offers_scram(logins)
    services = services_of(scram_users=None, decoy_key=None, tokens=None)
    assert [make(services, Lifetime()).name for make in logins["SASL_PLAINTEXT"].values()] == [
        "SCRAM-SHA-256",
        "SCRAM-SHA-512",
    ]


def test_a_login_module_of_another_mechanism_is_refused() -> None:
    key = f"{SASL}.scram-sha-512.sasl.jaas.config"
    with pytest.raises(ConfigError, match=r"not name .*\.ScramLoginModule") as refusal:
        prepare_logins(BrokerConfig({**SCRAM, key: f"{PLAIN_MODULE} required user_a=hunter2;"}))
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    "changes", [{"sasl.enabled.mechanisms": "PLAIN"}, {"listeners": "PLAINTEXT://localhost:0"}]
)
def test_a_broker_at_which_nobody_logs_in_by_scram(changes: dict[str, str]) -> None:
    assert not offers_scram(prepare_logins(BrokerConfig({**USABLE, **SCRAM, **changes})))


def test_the_trust_store_of_the_key_set_is_an_option_and_other_stores_are_refused() -> None:
    url = {"sasl.oauthbearer.jwks.endpoint.url": "https://127.0.0.1:1/keys", **SIGNED}
    line = f'{BEARER_MODULE} required ssl.truststore.type=PEM ssl.truststore.location="/none";'
    bearer(**url, **{f"{OAUTH}.sasl.jaas.config": line})
    line = f'{BEARER_MODULE} required ssl.keystore.location="/none";'
    with pytest.raises(ConfigError, match=r"not supported for an identity provider: ssl\.keystore"):
        bearer(**url, **{f"{OAUTH}.sasl.jaas.config": line})
