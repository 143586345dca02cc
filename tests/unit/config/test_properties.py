from __future__ import annotations

from pathlib import Path

import pytest

from kcompat.config.errors import ConfigError
from kcompat.config.properties import (
    from_environment,
    key_of_variable,
    load_static,
    parse_overrides,
    parse_properties,
    read_properties,
)
from kcompat.config.table import BROKER_KEYS


def test_the_grammar_of_properties_files() -> None:
    text = "# comment\n! too\na=b\n c : d e \\\n   f\ng\\ h = \\u00e9\nempty\na=last\n"
    assert parse_properties(text) == {"a": "last", "c": "d e f", "g h": "é", "empty": ""}


def test_a_damaged_escape_is_named() -> None:
    with pytest.raises(ConfigError, match=r"\\u00g is not a Unicode escape"):
        parse_properties("a=\\u00g")


@pytest.mark.parametrize("content", ["a=é".encode(), "a=é".encode("latin-1")])
def test_files_are_utf8_or_else_what_java_expects(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(content)
    assert read_properties(path) == {"a": "é"}


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent.properties cannot be read: No such file or directory"):
        read_properties(tmp_path / "absent.properties")
    huge = tmp_path / "huge"
    huge.write_bytes(b"a=" + b"x" * (1 << 20))
    with pytest.raises(ConfigError, match="huge is larger than 1048576 bytes, which no configuration is"):
        read_properties(huge)
    with pytest.raises(ConfigError, match="zero is larger than 1048576 bytes"):
        read_properties(Path("/dev/zero"))
    of_windows = tmp_path / "windows"
    of_windows.write_text("a=1", "utf-16")
    with pytest.raises(ConfigError, match=r"windows is encoded in UTF-16.*: save it as UTF-8"):
        read_properties(of_windows)
    broken = tmp_path / "broken"
    broken.write_text("a=\\uzzzz")
    with pytest.raises(ConfigError, match=r"broken: .*is not a Unicode escape"):
        read_properties(broken)


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("KAFKA_LOG_RETENTION_HOURS", "log.retention.hours"),
        ("KAFKA_A__B", "a_b"),
        ("KAFKA_A___B_C", "a-b.c"),
    ],
)
def test_variables(variable: str, key: str) -> None:
    assert key_of_variable(variable) == key


def test_every_lower_case_key_can_be_a_variable() -> None:
    for key in BROKER_KEYS:
        if key.islower():
            variable = "KAFKA_" + key.replace("_", "__").replace("-", "___").replace(".", "_").upper()
            assert key_of_variable(variable) == key


def test_variables_that_are_no_keys() -> None:
    environment = {
        "KAFKA_NUM_PARTITIONS": "3",
        "KAFKA_HEAP_OPTS": "-Xmx1G",
        "KAFKA_LOG4J_ROOT_LOGLEVEL": "INFO",
        "KAFKA_": "x",
        "PATH": "/bin",
    }
    assert from_environment(environment) == {"num.partitions": "3"}


def test_overrides() -> None:
    assert parse_overrides(["a=1", "b = x=y ", "a=2", "c="]) == {"a": "2", "b": "x=y", "c": ""}
    assert parse_overrides(["a=\u00a01 "]) == {"a": "\u00a01"}
    for wrong in ("a", "=1"):
        with pytest.raises(ConfigError, match=f"^--override {wrong} is not of the form key=value$"):
            parse_overrides([wrong])


def test_the_command_line_counts_before_the_environment_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("misspelt=1\nnode.id=1\nnum.partitions=1\n")
    variables = {"KAFKA_NODE_ID": "2", "KAFKA_NUM_PARTITIONS": "2"}
    static = load_static(path, variables, ["num.partitions=3"])
    assert static == {"misspelt": "1", "node.id": "2", "num.partitions": "3"}


def test_only_the_command_line_may_not_misspell_a_key(tmp_path: Path) -> None:
    message = r"^num\.partitons is not a key of Kafka's brokers: did you mean num\.partitions\?$"
    with pytest.raises(ConfigError, match=message):
        load_static(None, {}, ["num.partitons=4"])
    assert load_static(None, {"KAFKA_NUM_PARTITONS": "4"}, []) == {"num.partitons": "4"}
