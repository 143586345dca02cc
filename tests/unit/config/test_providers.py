"""Variables in values, with the answers of a Kafka 3.9.2 (`KafkaConfig.fromProps`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.config.container import read_container
from kcompat.config.providers import has_variable, resolve_variables
from kcompat.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "org.apache.kafka.common.config.provider"
ENVIRONMENT = {"A": "va lue", "B": "b", "NESTED": "${env:B}", "EMPTY": ""}


def provider(name: str, kind: str, **parameters: str) -> dict[str, str]:
    settings = {"config.providers": name, f"config.providers.{name}.class": f"{PACKAGE}.{kind}ConfigProvider"}
    for parameter, text in parameters.items():
        settings[f"config.providers.{name}.param.{parameter.replace('_', '.')}"] = text
    return settings


def resolved(text: str, settings: dict[str, str]) -> str:
    return resolve_variables({"broker.rack": text, **settings}, ENVIRONMENT)["broker.rack"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with a properties file, a secret, a link to it, and a directory."""
    (tmp_path / "p").write_text(
        "user=alice\npass = s3 cret \nuni=\\u00e9\nempty=\nnested=${file:x:y}\nu:x=c\n"
    )
    (tmp_path / "token").write_bytes(b"line1\nline2")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "link").symlink_to(tmp_path / "token")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "inner").write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:A}", "va lue"),
        ("a-${env:A}-b-${env:B}", "a-va lue-b-b"),
        ("$${env:A}", "$va lue"),
        ("${env:A}}", "va lue}"),
        ("${env::A}", "va lue"),
        ("${env:EMPTY}", ""),
        ("${env:NESTED}", "${env:B}"),
        ("x${env:NOPE}y${env:B}", "x${env:NOPE}yb"),
        *((text, text) for text in (
            "${env:NOPE}", "${env:}", "${env: A}", "${ENV:A}", "${A}", "${env:A", "${other:A}", "${f:/x:A}",
        )),
    ],
)  # fmt: skip
def test_variables_of_the_environment(text: str, expected: str) -> None:
    assert resolved(text, provider("env", "EnvVar")) == expected


def test_without_a_provider_a_variable_stays_as_it_is() -> None:
    text = "${env:A}"
    assert resolved(text, {}) == text
    assert resolved(text, {"config.providers": "env"}) == text
    assert resolved(text, provider("env", "EnvVar") | {"config.providers": ""}) == text
    assert resolved(text, provider("env", "EnvVar") | {"config.providers": " env "}) == text
    assert resolved(text, provider("env", "EnvVar") | {"config.providers": "x,env"}) == "va lue"


@pytest.mark.parametrize(
    ("pattern", "expected"), [("A|B", "va lue"), (".*", "va lue"), ("", "${env:A}"), ("B", "${env:A}")]
)
def test_only_variables_that_match_the_pattern_as_a_whole_are_shown(pattern: str, expected: str) -> None:
    assert resolved("${env:A}", provider("env", "EnvVar", allowlist_pattern=pattern)) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("user", "alice"),
        ("pass", "s3 cret "),
        ("uni", "é"),
        ("empty", ""),
        ("nested", "${file:x:y}"),
        ("nope", None),
    ],
)
def test_keys_of_a_file(home: Path, key: str, expected: str | None) -> None:
    text = f"${{file:{home}/p:{key}}}"
    assert resolved(text, provider("file", "File")) == (text if expected is None else expected)


@pytest.mark.parametrize("text", ["${file:user}", "${file::user}"])
def test_a_file_provider_needs_a_path(text: str) -> None:
    assert resolved(text, provider("file", "File")) == text


@pytest.mark.parametrize(
    ("allowed", "is_allowed"),
    [("{}", True), ("{}/p", True), ("{}/below/..", True), ("/etc,{}", True), ("", True), ("{}/below", False)],
)
def test_a_file_is_read_where_that_is_allowed(home: Path, allowed: str, is_allowed: bool) -> None:
    settings = provider("file", "File", allowed_paths=allowed.format(home))
    text = f"${{file:{home}/p:user}}"
    assert resolved(text, settings) == ("alice" if is_allowed else text)


def test_a_path_that_leaves_what_is_allowed_by_dots_is_not_read(home: Path) -> None:
    text = f"${{file:{home}/below/../p:user}}"
    assert resolved(text, provider("file", "File", allowed_paths=f"{home}/below")) == text


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("token", "line1\nline2"),
        ("link", "line1\nline2"),
        ("bytes", "\ufffd\ufffd"),
        *((key, None) for key in ("nope", "below", "below/inner", "../token", "", ".", "..")),
    ],
)
def test_files_of_a_directory(home: Path, key: str, expected: str | None) -> None:
    text = f"${{dir:{home}:{key}}}"
    assert resolved(text, provider("dir", "Directory")) == (text if expected is None else expected)


def test_what_is_no_directory_has_no_files(home: Path) -> None:
    for text in ("${dir:/nope:token}", f"${{dir:{home}/token:token}}", "${dir:token}"):
        assert resolved(text, provider("dir", "Directory")) == text
    text = f"${{dir:{home}:token}}"
    assert resolved(text, provider("dir", "Directory", allowed_paths="/etc")) == text


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("x", {"config.providers": "v", "config.providers.v.class": "com.example.Vault"},
         r"^config\.providers\.v\.class=com\.example\.Vault is not supported: there are EnvVarConfig"),
        ("x", {"config.providers": "v", "config.providers.v.class": ""}, "is not supported"),
        ("x", {"config.providers": "v", "config.providers.v.class": "EnvVarConfigProvider"}, "is not supp"),
        ("x", provider("env", "EnvVar", allowlist_pattern="["), "is not a regular expression"),
        ("${env:path:A}", provider("env", "EnvVar"), "variables of the environment have none"),
        ("${file:/nope:A}", provider("file", "File"), "/nope cannot be read: No such file"),
        ("${file:/:A}", provider("file", "File"), "/ cannot be read: Is a directory"),
        ("x", provider("file", "File", allowed_paths="etc"), "has the path etc, which is not absolute"),
        ("x", provider("dir", "Directory", allowed_paths="/no"), "has the path /no, which does not exist"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(text: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolved(text, settings)


def test_what_has_a_variable() -> None:
    assert has_variable("a${b:c}")
    assert not any(map(has_variable, ("${b}", "$b", "{b:c}", "b:c")))


def test_a_container_and_a_broker_resolve_variables(home: Path) -> None:
    settings = provider("file", "File") | {"num.partitions": f"${{file:{home}/n:n}}"}
    (home / "n").write_text("n=7\n")
    mounted = home / "server.properties"
    mounted.write_text("".join(f"{name}={text}\n" for name, text in settings.items()))
    assert read_container({}, mounted, home).values["num.partitions"] == "7"
    Broker(config=settings)
    (home / "n").write_text("n=many\n")
    with pytest.raises(ConfigError, match=r"Invalid value many for configuration num\.partitions"):
        Broker(config=settings)
