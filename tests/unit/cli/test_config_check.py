from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kcompat.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "broker.id=1\nlisteners=PLAINTEXT://localhost:9092\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "server.properties"


def check(file: Path, text: str, *options: str) -> int:
    """Write a file and return the exit code of its check."""
    file.write_text(f"{text}log.dirs={file.parent}/data\n")
    return main(["config", "check", *options, str(file)])


def test_a_good_file_is_one_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(file, GOOD) == 0
    assert capsys.readouterr() == ("3 enforced: a broker would start\n", "")
    assert not (file.parent / "data").exists()


def test_each_finding_has_its_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(file, f"{GOOD}\nnum.partitons=2\nnum.partitions=0\n", "--all") == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{file}:1: not checked: broker.id",
        f"{file}:2: not checked: listeners",
        f"{file}:4: unknown: num.partitons is not a key of Kafka's brokers: did you mean num.partitions?",
        f"{file}:5: invalid: Invalid value 0 for configuration num.partitions: Value must be at least 1",
        f"{file}:6: not checked: log.dirs",
        "3 not checked, 1 unknown, 1 invalid: a broker would not start",
    ]


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict",), 1)])
def test_warnings_count_if_that_is_wanted(
    options: tuple[str, ...], code: int, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(file, f"{GOOD}background.threads=9\n", *options) == code
    assert capsys.readouterr().out.endswith("3 enforced, 1 no effect: a broker would start\n")


def test_what_the_parts_of_a_broker_refuse_is_found(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(file, "listeners=SSL://localhost:9093\n") == 1
    assert capsys.readouterr().out.endswith("1 invalid: a broker would not start\n")
    assert check(file, "process.roles=broker\nlisteners=PLAINTEXT://:9092\n") == 1
    assert f"{file}:1: invalid: process.roles=broker belong to a KRaft" in capsys.readouterr().out
    assert (
        check(file, "authorizer.class.name=kafka.security.authorizer.AclAuthorizer\nsuper.users=bob\n") == 1
    )
    assert f"{file}:2: invalid: super.users has 'bob', which is not a principal" in capsys.readouterr().out


def test_a_data_directory_of_several_brokers_is_found(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    member = file.parent / "data" / "broker-0"
    member.mkdir(parents=True)
    (member / "meta.properties").write_text("version=0\nbroker.id=0\ncluster.id=x\n")
    assert check(file, GOOD) == 1
    assert "would not find its logs" in capsys.readouterr().out


def test_json_has_all_settings(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "0")
    assert check(file, "broker.id=1\n", "-o", "json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["file"], document["starts"]) == (str(file), False)
    assert document["settings"][0] == {
        "key": "broker.id",
        "line": 1,
        "variable": None,
        "verdict": "not checked",
        "message": None,
    }
    last = document["settings"][2]
    assert (last["key"], last["line"], last["variable"]) == ("num.partitions", None, "KAFKA_NUM_PARTITIONS")
    assert last["verdict"] == "invalid"


def test_files_that_cannot_be_read_are_one_sentence(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check", str(file)]) == 1
    assert capsys.readouterr() == ("", f"kcompat: {file} cannot be read: No such file or directory\n")
    file.write_text("a=\\u12\n")
    assert main(["config", "check", str(file)]) == 1
    assert capsys.readouterr().err == f"kcompat: {file}: \\u12 is not a Unicode escape\n"
