"""Kafka's commands without a JVM over TLS and SASL, with the settings of Java's clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.commands.run import run_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(tls=True, users={"ann": "secret"}, topics={"orders": 1}) as found:
        yield found


def listed(broker: Broker, directory: Path, changes: Mapping[str, str]) -> int:
    """List the topics with the settings of ann, and changes to them; return the exit code."""
    settings = broker.client_config("ann", library="java") | changes
    servers = str(settings.pop("bootstrap.servers"))
    file = directory / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return run_command("topics", ["--bootstrap-server", servers, "--command-config", str(file), "--list"])


def scram(password: str) -> dict[str, str]:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    line = f'{module} required username="ann" password="{password}";'
    return {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": line}


def plain(password: str) -> dict[str, str]:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    line = f'{module} required username="ann" password="{password}";'
    return {"sasl.mechanism": "PLAIN", "sasl.jaas.config": line}


@pytest.mark.parametrize("login", [scram("secret"), plain("secret"), {"ssl.enabled.protocols": "TLSv1.2"}])
def test_a_command_logs_in(
    broker: Broker, tmp_path: Path, login: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert listed(broker, tmp_path, login) == 0
    assert capsys.readouterr().out == "orders\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (scram("wrong"), "invalid credentials with SASL mechanism SCRAM-SHA-512"),
        ({"ssl.truststore.location": "", "ssl.truststore.type": "JKS"}, "SSL handshake failed"),
        ({"security.protocol": "SASL_PLAINTEXT", **plain("x"), "default.api.timeout.ms": "900",
          "request.timeout.ms": "900"}, "Timed out waiting for a node assignment. Call: listTopics"),
        ({"sasl.mechanism": "GSSAPI"}, "sasl.mechanism=GSSAPI is not supported"),
        ({"ssl.truststore.location": "/nowhere.pem"}, "/nowhere.pem cannot be read"),
    ],
)  # fmt: skip
def test_a_refusal_is_one_that_another_attempt_does_not_mend(
    broker: Broker,
    tmp_path: Path,
    changes: Mapping[str, str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert listed(broker, tmp_path, changes) == 1
    printed = capsys.readouterr()
    assert message in printed.out + printed.err
    assert "secret" not in printed.out + printed.err
