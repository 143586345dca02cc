"""Real clients and a broker that uses only what every system has, as it does on macOS and the BSDs."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drivers.base import Record
from drivers.kafka_python import KafkaPython3
from support.compacted_topics import compact
from support.kcompat_broker import KcompatBroker
from support.places import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(REPOSITORY / "spark-examples"))

KEYS = [b"a", b"b", b"c"]
WITHOUT = "import os, select\ndel select.epoll, os.sendfile, os.posix_fallocate, os.fdatasync\n"


class PortableBroker(KcompatBroker):
    """A broker with environment variables of its own."""

    def __init__(self, environment: dict[str, str]) -> None:
        super().__init__({"log.cleaner.enable": "false", "log.preallocate": "true"})
        self._environment = environment

    def command(self) -> list[str]:
        return ["env", *(f"{name}={value}" for name, value in self._environment.items()), *super().command()]

    def epolls(self) -> int:
        """How many epolls it has open, its loop's own among them."""
        found = 0
        for descriptor in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                found += "eventpoll" in str(descriptor.readlink())
        return found


@pytest.fixture(params=["left out", "not there"])
def portable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PortableBroker]:
    """A broker that is told to leave out what only some systems have, or whose processes do not have it."""
    environment = {"KCOMPAT_PORTABLE": "1"}
    if request.param == "not there":
        (tmp_path / "sitecustomize.py").write_text(WITHOUT)
        environment = {"PYTHONPATH": f"{tmp_path}:{REPOSITORY}", "KCOMPAT_PORTABLE": ""}
    with PortableBroker(environment) as broker:
        assert broker.epolls() == (request.param == "left out")
        yield broker
        assert "Traceback" not in broker.log_path.read_text()


@pytest.fixture
def client(portable: PortableBroker) -> Iterator[KafkaPython3]:
    driver = KafkaPython3(portable.bootstrap)
    yield driver
    driver.close()


@pytest.fixture(scope="module")
def spark() -> Iterator[None]:
    """A session that the example finds running."""
    pytest.importorskip("pyspark", reason="pyspark is not there: pip install pyspark==4.2.0")
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH: install a Java 17 runtime")
    from spark_session import spark_session

    with spark_session("portable"):
        yield


def restart(broker: PortableBroker) -> None:
    broker.stop()
    broker.start()


def values(client: KafkaPython3, topic: str, count: int) -> list[bytes]:
    return [record.value for record in client.consume(topic, [0], count)]


def test_what_is_produced_is_fetched_compacted_and_there_after_a_restart(
    portable: PortableBroker, client: KafkaPython3, name: str
) -> None:
    client.create_topic(name, 1, {"cleanup.policy": "compact", "segment.bytes": "1000"})
    rounds = [[b"%d" % number * 200 + key for key in KEYS] for number in range(6)]
    for each in rounds:
        client.produce(name, [Record(value, key, (), 0) for key, value in zip(KEYS, each, strict=True)])
    assert values(client, name, 18) == [value for each in rounds for value in each]
    restart(portable)
    assert values(client, name, 18) == [value for each in rounds for value in each]
    done = compact(portable.home / "data", name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert values(client, name, 3) == rounds[-1]
    restart(portable)
    assert values(client, name, 3) == rounds[-1]


@pytest.mark.thorough("test_spark.py has a query that sees its broker killed")
@pytest.mark.usefixtures("spark")
def test_spark_goes_on_after_a_restart(
    portable: PortableBroker, client: KafkaPython3, name: str, tmp_path: Path
) -> None:
    import streaming_count

    client.create_topic(name, 2, {})
    arguments = ["--bootstrap", portable.bootstrap, "--topic", name, "--checkpoint", str(tmp_path / "seen")]
    client.produce(name, [Record(b"x", b"even" if n % 2 == 0 else b"odd", (), n % 2) for n in range(11)])
    assert streaming_count.main(arguments) == {"even": 6, "odd": 5}
    restart(portable)
    client.produce(name, [Record(b"x", b"odd", (), 1) for _ in range(3)])
    assert streaming_count.main(arguments) == {"even": 6, "odd": 8}
