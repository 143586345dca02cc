"""Clients of five kinds copy a topic in transactions; all of them are killed, and their three brokers are."""

from __future__ import annotations

import shutil
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from commands import QUICK_JVM, run
from copying import Source, copied, is_settled, read_committed
from support.kafka_jars import class_path
from support.kcompat_broker import KcompatBroker
from support.places import CACHE, REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

HERE = REPOSITORY / "interop-tests"
STEP = 2_000
PER_TRANSACTION = 50
PATIENCE_S = 240
SETTINGS = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "transaction.state.log.num.partitions": "5",
    "offsets.topic.num.partitions": "5",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
}


@dataclass
class Copier:
    """A program that copies, started again whenever it ends."""

    kind: str
    command: Sequence[str]
    settings: Sequence[str]
    bootstrap: str
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def tend(self) -> None:
        """Start it unless it runs."""
        if self.process is None or self.process.poll() is not None:
            names = ["source", self.target, self.group, f"{self.kind}-copier", str(PER_TRANSACTION)]
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(
                    [*self.command, self.bootstrap, *names, *self.settings], stdout=log, stderr=log
                )

    def kill(self) -> None:
        """End it without a word."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    @property
    def target(self) -> str:
        """The topic it copies to."""
        return f"{self.kind}-target"

    @property
    def group(self) -> str:
        """The group that it is the only member of."""
        return f"{self.kind}-copiers"

    @property
    def so_far(self) -> int:
        """How many records it has copied."""
        return copied(self.bootstrap, self.group)


def java(directory: Path, version: str) -> list[str]:
    """The Java client of a release."""
    path = f"{directory}:{class_path(version)}"
    if not (directory / "Copier.class").exists():
        run(["javac", "-nowarn", "-cp", path, "-d", directory, HERE / "java" / "copier" / "Copier.java"])
    return [*QUICK_JVM, "-cp", path, "Copier"]


class ThreeBrokers(KcompatBroker):
    """In one process, which is killed as a whole."""

    def command(self) -> list[str]:
        """See `KcompatBroker`."""
        return [*super().command(), "--brokers", "3"]


@pytest.fixture
def broker() -> Iterator[KcompatBroker]:
    with ThreeBrokers(SETTINGS) as broker:
        yield broker


@pytest.fixture
def copiers(broker: KcompatBroker, tmp_path: Path) -> Iterator[list[Copier]]:
    """One of each kind whose programs are there."""
    classic = ["session.timeout.ms=6000", "heartbeat.interval.ms=500", "group.protocol=classic"]
    kinds: list[tuple[str, list[str], list[str]]] = []
    if shutil.which("javac") and all((CACHE / f"kafka-{each}").is_dir() for each in ("3.9.2", "4.3.0")):
        kinds.append(("java-3.9", java(tmp_path, "3.9.2"), classic))
        kinds.append(("java-4.3", java(tmp_path, "4.3.0"), ["group.protocol=consumer"]))
    kinds += [(kind, [str(CACHE / "go" / kind)], []) for kind in ("copyfranz", "copysarama")]
    kinds.append(("kafkajs", ["node", str(HERE / "drivers" / "copier.js")], []))
    there = [each for each in kinds if shutil.which(each[1][0])]
    if not there:
        pytest.skip("run python interop-tests/fetch.py")
    with ExitStack() as running:
        every = []
        for kind, command, settings in there:
            log = tmp_path / f"{kind}.log"
            every.append(Copier(kind, command, settings, broker.bootstrap, log))
            running.callback(every[-1].kill)
        yield every


def all_tended(copiers: list[Copier], so_far: int, deadline: float) -> None:
    """Until each of them has copied so many."""
    while behind := [each for each in copiers if each.so_far < so_far]:
        for each in copiers:
            each.tend()
        said = "\n".join(f"{each.kind}: {each.so_far}\n{each.log.read_text()[-2000:]}" for each in behind)
        assert time.monotonic() < deadline, f"not all have copied {so_far}\n{said}"
        time.sleep(0.1)


@pytest.mark.timeout(PATIENCE_S + 120)
def test_what_each_kind_copies_is_there_once_and_in_order(
    broker: KcompatBroker, copiers: list[Copier]
) -> None:
    deadline = time.monotonic() + PATIENCE_S
    source = Source(broker.bootstrap, [each.target for each in copiers])
    source.add(100)
    all_tended(copiers, 100, deadline)
    for accident in ("copiers", "broker"):
        before = source.count
        source.add(STEP)
        if accident == "broker":
            all_tended(copiers, before + PER_TRANSACTION, deadline)
            broker.kill()
            broker.start()
        else:
            for each in copiers:
                all_tended([each], before + PER_TRANSACTION, deadline)
                each.kill()
    all_tended(copiers, source.count, deadline)
    for each in copiers:
        while not is_settled(broker.bootstrap, each.target):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert read_committed(broker.bootstrap, each.target) == source.rows, each.kind
