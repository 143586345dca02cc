from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.config.errors import ConfigError
from kcompat.config.jaas_file import OPTION, logins_of_listeners, read_jaas_file

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
TEXT = f"""
/* The broker's
   logins; */
KafkaServer {{
    {PLAIN} required   // among brokers, too
        username="admin" password="a}};b"
        user_admin="a}};b" user_alice="x\\"y";
    {SCRAM} required;
}};
"internal.KafkaServer" {{ {PLAIN} required user_bob="z"; }};
Client {{ org.apache.zookeeper.server.auth.DigestLoginModule required username="z" password="p"; }};
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jaas.conf"


def test_sections_are_lists_of_login_lines(path: Path) -> None:
    path.write_text(TEXT)
    assert read_jaas_file(path) == {
        "KafkaServer": [
            f'{PLAIN} required username= "admin" password= "a}};b" user_admin= "a}};b" user_alice= "x\\"y";',
            f"{SCRAM} required;",
        ],
        "internal.KafkaServer": [f'{PLAIN} required user_bob= "z";'],
        "Client": [
            'org.apache.zookeeper.server.auth.DigestLoginModule required username= "z" password= "p";'
        ],
    }


def test_a_listener_has_its_own_section_or_that_of_all() -> None:
    sections = {
        "KafkaServer": [f"{PLAIN} required user_a=b;", f"{SCRAM} required;", "com.example.Other required;"],
        "internal.KafkaServer": [f"{PLAIN} required user_c=d;"],
    }
    assert logins_of_listeners(sections, ["INTERNAL", "SASL_SSL"]) == {
        "listener.name.internal.plain.sasl.jaas.config": f"{PLAIN} required user_c=d;",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{PLAIN} required user_a=b;",
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
    }
    assert logins_of_listeners({"Client": [f"{PLAIN} required;"]}, ["SASL_SSL"]) == {}


@pytest.mark.parametrize(
    "text",
    [
        f'KafkaServer {{ {PLAIN} required password="secret"; }}',
        f'KafkaServer {{ {PLAIN} required password="secret" }};',
        f'KafkaServer {{ {PLAIN} required password="secret',
        f'{PLAIN} required password="secret";',
        "KafkaServer",
        "/* secret",
    ],
)
def test_what_has_another_form_is_refused_without_repeating_it(text: str, path: Path) -> None:
    path.write_text(text)
    with pytest.raises(ConfigError, match="is not of the form NAME") as caught:
        read_jaas_file(path)
    assert "secret" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the JAAS file .*jaas\.conf cannot be read: No such file"):
        read_jaas_file(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="it is not UTF-8"):
        read_jaas_file(path)


def test_the_option_is_found_among_others() -> None:
    found = OPTION.search("-Xmx1g -Djava.security.auth.login.config=/etc/kafka/jaas.conf -Dx=y")
    assert found is not None
    assert found[1] == "/etc/kafka/jaas.conf"
