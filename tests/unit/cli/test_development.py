from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import javaproperties
import pytest

from kcompat.cli.development import read_development, write_client_files
from kcompat.cli.parser import build_parser
from kcompat.config.broker import BrokerConfig
from kcompat.config.errors import ConfigError
from kcompat.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.node.development import Development


def read(*arguments: str, environment: dict[str, str] | None = None) -> Development:
    options = build_parser().parse_args(["start", *arguments])
    return read_development(options, {} if environment is None else environment)


def test_users_are_repeated_and_passwords_may_have_colons() -> None:
    assert read("--user", "alice:secret", "--user", "bob:a:b").users == {"alice": "secret", "bob": "a:b"}


def test_tls_alone_has_no_users() -> None:
    assert read("--dev-tls").users is None


def test_a_password_of_the_environment_does_not_stay_there() -> None:
    environment = {"KCOMPAT_PASSWORD_MY_APP": "secret", "PATH": "/"}
    assert read("--user", "my-app", environment=environment).users == {"my-app": "secret"}
    assert environment == {"PATH": "/"}


def test_a_user_without_a_password_is_refused_where_nobody_can_be_asked() -> None:
    with pytest.raises(ConfigError, match="--user alice has no password: write --user alice:PASS"):
        read("--user", "alice")


def test_a_user_that_is_given_twice_is_refused_without_the_passwords() -> None:
    with pytest.raises(ConfigError, match="--user alice is given twice") as caught:
        read("--user", "alice:secret", "--user", "alice:hidden")
    assert "secret" not in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("text", [":secret", "alice:", "kcompat-broker:x"])
def test_a_user_that_cannot_be_is_refused_without_the_password(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read("--user", text)
    assert "secret" not in str(caught.value)


def test_kafkas_tools_get_a_file_that_only_the_owner_reads(tmp_path: Path) -> None:
    development = read("--dev-tls", "--user", 'al/ice:a "b\\c ü')
    config = development.secured(BrokerConfig({"log.dirs": str(tmp_path), "listeners": "PLAINTEXT://:0"}))
    path = tmp_path / "client-al%2Fice.properties"
    path.write_text("another one")
    path.chmod(0o644)
    lines = write_client_files(development, config, "localhost:1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with path.open("rb") as file:
        settings = javaproperties.load(file)
    assert settings["bootstrap.servers"] == "localhost:1"
    assert settings["security.protocol"] == "SASL_SSL"
    assert settings["ssl.truststore.location"] == str(tmp_path / "development-ca.pem")
    assert settings["sasl.jaas.config"].endswith(r' username="al/ice" password="a \"b\\c ü";')
    assert lines == [f"Kafka's tools connect as al/ice with --command-config {path}"]


def test_without_users_there_is_one_file(tmp_path: Path) -> None:
    development = read("--dev-tls")
    config = development.secured(BrokerConfig({"log.dirs": str(tmp_path), "listeners": "PLAINTEXT://:0"}))
    lines = write_client_files(development, config, "localhost:1")
    path = tmp_path / "client.properties"
    assert lines == [f"Kafka's tools connect with --command-config {path}"]
    assert "security.protocol=SSL\n" in path.read_text()
