"""`kcompat take-over` where it ends before any ZooKeeper is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat import Broker
from kcompat.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def take_over(directory: Path, address: str = "127.0.0.1:1") -> int:
    return main(["take-over", "--data-dir", str(directory), "--zookeeper", address])


def test_no_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert take_over(tmp_path / "absent") == 1
    assert f"there is no data directory {tmp_path / 'absent'}" in capsys.readouterr().err


def test_of_kafkas_own_properties_only_the_directories_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(
        f"listeners=SSL://:9093\nzookeeper.connect=zk:2181\nlog.dirs={tmp_path},/absent/b\n"
    )
    assert main(["take-over", "--properties", str(properties), "--zookeeper", "127.0.0.1:1"]) == 1
    assert capsys.readouterr().err == "kcompat: there is no data directory /absent/b\n"


def test_a_broker_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(data_dir=tmp_path):
        assert take_over(tmp_path) == 1
    assert f"a broker is running on {tmp_path}: stop it first" in capsys.readouterr().err


def test_no_address(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert take_over(tmp_path, "host:name/kafka") == 1
    assert "--zookeeper must be of the form HOST:PORT" in capsys.readouterr().err
    assert not (tmp_path / "metadata.db").exists()
