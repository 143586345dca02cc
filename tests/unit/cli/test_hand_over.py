"""`kcompat hand-over` where it ends before any ZooKeeper is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.cli.hand_over import properties_for
from kcompat.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def hand_over(directory: Path, zookeeper: str = "127.0.0.1:1") -> int:
    return main(["hand-over", "--data-dir", str(directory), "--zookeeper", zookeeper])


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data")
    with Broker(data_dir=directory):
        pass
    return directory


def test_no_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hand_over(tmp_path / "absent") == 1
    assert f"there is no data directory {tmp_path / 'absent'}" in capsys.readouterr().err


def test_no_metadata_store_and_none_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hand_over(tmp_path) == 1
    assert "metadata.db is missing: start and stop kcompat there" in capsys.readouterr().err
    assert not (tmp_path / "metadata.db").exists()


def test_a_broker_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(data_dir=tmp_path):
        assert hand_over(tmp_path) == 1
    assert f"a broker is running on {tmp_path}: stop it first" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["127.0.0.1:99999", "host:name/kafka", "/kafka"])
def test_no_address(stopped: Path, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hand_over(stopped, address) == 1
    assert "--zookeeper must be of the form HOST:PORT" in capsys.readouterr().err


def test_help_names_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["hand-over"])
    assert "--zookeeper" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("broker_id", "lines"),
    [
        (1000, ["broker.id=1000"]),
        (1001, ["broker.id=1001", "reserved.broker.max.id=1001"]),
    ],
)
def test_kafka_refuses_ids_above_a_reserved_one(broker_id: int, lines: list[str]) -> None:
    rest = ["log.dirs=/a,/b", "zookeeper.connect=zk:2181/k"]
    assert properties_for(broker_id, ["/a", "/b"], "zk:2181/k") == [*lines, *rest]
