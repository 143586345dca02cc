from __future__ import annotations

from typing import Any

import pytest

from kcompat.api.authentication import LoginGate
from kcompat.config.broker import BrokerConfig
from kcompat.errors import ConfigError
from kcompat.node.logins import MECHANISMS, check_listeners, login_gates, prepare_logins
from kcompat.security.sasl.plain import LOGIN_MODULE
from support.asking import services_of
from support.virtual_clock import VirtualClock

SASL = "listener.name.sasl_plaintext"
USABLE = {
    "listeners": "SASL_PLAINTEXT://localhost:0",
    "sasl.enabled.mechanisms": "PLAIN",
    f"{SASL}.plain.sasl.jaas.config": f'{LOGIN_MODULE} required user_alice="hunter2";',
}


def gate_of(**changes: str) -> Any:
    config = BrokerConfig({**USABLE, **changes})
    return login_gates(config, services_of(clock=VirtualClock()), Any)["SASL_PLAINTEXT"]  # type: ignore[arg-type]


def test_a_sasl_listener_gets_a_gate() -> None:
    config = BrokerConfig({
        **USABLE,
        "listeners": "SASL_PLAINTEXT://localhost:0,PLAINTEXT://localhost:0",
    })  # fmt: skip
    check_listeners(config)
    gates = login_gates(config, services_of(clock=VirtualClock()), Any)  # type: ignore[arg-type]
    assert list(gates) == ["SASL_PLAINTEXT"]
    assert isinstance(gates["SASL_PLAINTEXT"], LoginGate)


def test_a_broker_without_sasl_has_no_gates() -> None:
    config = BrokerConfig()
    check_listeners(config)
    assert login_gates(config, services_of(), Any) == {}  # type: ignore[arg-type]


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
        check_listeners(BrokerConfig({**USABLE, **changes}))
    assert "hunter2" not in str(refusal.value)


def test_a_missing_jaas_line_is_named() -> None:
    config = {name: text for name, text in USABLE.items() if "jaas" not in name}
    for more in ({}, {"sasl.jaas.config": USABLE[f"{SASL}.plain.sasl.jaas.config"]}):
        with pytest.raises(
            ConfigError, match=r"set listener\.name\.sasl_plaintext\.plain\.sasl\.jaas\.config="
        ):
            check_listeners(BrokerConfig({**config, **more}))


def test_mechanisms_are_offered_once_in_the_order_of_the_setting() -> None:
    config = BrokerConfig({**USABLE, "sasl.enabled.mechanisms": "PLAIN,PLAIN"})
    assert list(prepare_logins(config, "SASL_PLAINTEXT")) == ["PLAIN"]


def test_the_names_of_mechanisms_are_those_that_clients_send() -> None:
    config = BrokerConfig(USABLE)
    plain = MECHANISMS["PLAIN"](config, "SASL_PLAINTEXT")(services_of())
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
