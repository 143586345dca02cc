"""Kafka's commands without a JVM over TLS and SASL, with the settings of Java's clients."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.commands.run import run_command
from kcompat.security.login_lines import BEARER_MODULE
from support.secured_brokers import sasl_settings
from support.tls_authority import HOSTS, Authority, as_pem

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


def list_topics(broker: Broker, directory: Path, settings: Mapping[str, str]) -> int:
    """List the topics of a broker with these settings, and return the exit code."""
    file = directory / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    words = ["--bootstrap-server", broker.bootstrap_servers, "--command-config", str(file), "--list"]
    return run_command("topics", words)


def test_a_command_logs_in_with_a_bearer_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        **sasl_settings("SASL_PLAINTEXT", "OAUTHBEARER"),
    }
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f'{BEARER_MODULE} required unsecuredLoginStringClaim_sub="admin";',
    }
    with Broker(config=config, topics={"orders": 1}) as broker:
        assert list_topics(broker, tmp_path, settings) == 0
        assert capsys.readouterr().out == "orders\n"
        assert (
            list_topics(broker, tmp_path, {**settings, "sasl.jaas.config": f"{BEARER_MODULE} required;"}) == 1
        )
        assert "unsecuredLoginStringClaim_sub is needed" in capsys.readouterr().err


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def tls_client(authority: Authority, directory: Path) -> dict[str, str]:
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.trust_in(directory)),
    }


def test_a_command_shows_a_certificate(
    authority: Authority, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trust = tls_client(authority, tmp_path)
    key = tmp_path / "alice.pem"
    key.write_bytes(as_pem(authority.client("alice"), "hidden"))
    certificate = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(key),
        "ssl.key.password": "hidden",
    }
    config = authority.properties(tmp_path, **{"ssl.client.auth": "required"}) | {
        "security.inter.broker.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": trust["ssl.truststore.location"],
    }
    with Broker(config=config, topics={"orders": 1}) as broker:
        assert list_topics(broker, tmp_path, trust | certificate) == 0
        assert capsys.readouterr().out == "orders\n"
        for refused in (trust, trust | certificate | {"ssl.key.password": "wrong"}):
            assert list_topics(broker, tmp_path, refused) == 1
            printed = capsys.readouterr()
            assert "Traceback" not in printed.err
            assert "hidden" not in printed.out + printed.err


@pytest.mark.parametrize("fault", ["mismatch", "expired"])
def test_a_certificate_that_does_not_hold_is_refused_with_the_reason(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority = Authority()
    hosts = ("other.example",) if fault == "mismatch" else HOSTS
    until = datetime(2020, 1, 1, tzinfo=UTC) if fault == "expired" else None
    authority.broker = authority.ca.issue_cert(*hosts, not_after=until)
    config = {**authority.properties(tmp_path), "security.inter.broker.protocol": "SSL"}
    with Broker(config=config) as broker:
        assert list_topics(broker, tmp_path, tls_client(authority, tmp_path)) == 1
    printed = capsys.readouterr()
    assert "SSL handshake failed" in printed.out
    assert fault in printed.err
