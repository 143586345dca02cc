from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.config.errors import ConfigError
from kcompat.config.redpanda import variables_of_rpk

if TYPE_CHECKING:
    from pathlib import Path

START = ["redpanda", "start", "--mode=dev-container", "--smp=1", "--memory", "1G"]

DESCRIBED = """\
# Injected by testcontainers
redpanda:
  admin:
    address: 0.0.0.0
    port: 9644

  kafka_api:
    - address: 0.0.0.0
      name: external
      port: 9092
      authentication_method: none

    # for the container itself
    - address: "0.0.0.0"
      name: internal
      port: 9093
      authentication_method: none

  advertised_kafka_api:
    - address: localhost
      name: external
      port: 32768
    - address: 127.0.0.1
      name: internal
      port: 9093

rpk:
  kafka_api:
    brokers:
    - localhost:9093
"""
"""The configuration file that the Java module of Testcontainers writes."""


@pytest.fixture
def described(tmp_path: Path) -> Path:
    return tmp_path / "redpanda.yaml"


def test_options_name_the_listeners(described: Path) -> None:
    """As Testcontainers' module of Python gives them; they count before the file."""
    described.write_text(DESCRIBED)
    listeners = "PLAINTEXT://0.0.0.0:29092,OUTSIDE://0.0.0.0:9092"
    told = "PLAINTEXT://127.0.0.1:29092,OUTSIDE://localhost:4000"
    words = [*START, "--kafka-addr", listeners, f"--advertise-kafka-addr={told}"]
    assert variables_of_rpk(words, described) == {
        "KAFKA_LISTENERS": listeners,
        "KAFKA_ADVERTISED_LISTENERS": told,
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    }


def test_the_file_names_them(described: Path) -> None:
    described.write_text(DESCRIBED)
    assert variables_of_rpk(START, described) == {
        "KAFKA_LISTENERS": "external://0.0.0.0:9092,internal://0.0.0.0:9093",
        "KAFKA_ADVERTISED_LISTENERS": "external://localhost:32768,internal://127.0.0.1:9093",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "external:PLAINTEXT,internal:PLAINTEXT",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "external",
    }


def test_without_either_nothing_is_asked_for(described: Path) -> None:
    assert variables_of_rpk(START, described) == {}


def test_what_clients_are_told_is_enough(described: Path) -> None:
    assert variables_of_rpk([*START, "--advertise-kafka-addr", "OUT://localhost:4000"], described) == {
        "KAFKA_ADVERTISED_LISTENERS": "OUT://localhost:4000",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "OUT:PLAINTEXT",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "OUT",
    }


def test_authentication_is_refused(described: Path) -> None:
    described.write_text(DESCRIBED.replace("authentication_method: none", "authentication_method: sasl", 1))
    with pytest.raises(ConfigError, match="authentication_method sasl, which is not served"):
        variables_of_rpk(START, described)


@pytest.mark.parametrize("words", [[], ["topic", "create", "t"], ["redpanda"]])
def test_other_commands_are_refused(described: Path, words: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"rpk .*is not known here"):
        variables_of_rpk(words, described)
