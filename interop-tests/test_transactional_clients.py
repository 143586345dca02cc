"""Clients of many kinds copy a topic in transactions, as members of classic groups and of those of KIP-848.

All of them are killed, and their three brokers are.
"""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from copiers import BY_BROKER, CLASSIC, HERE, PER_TRANSACTION, Copier, confluent, go, has_java, java
from copying import Source, copied, is_settled, read_committed
from support.eventually import Patience
from support.kcompat_broker import KcompatBroker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

STEP = 2_000
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


class ThreeBrokers(KcompatBroker):
    """In one process, which is killed as a whole."""

    def command(self) -> list[str]:
        return [*super().command(), "--brokers", "3"]


@pytest.fixture
def broker() -> Iterator[KcompatBroker]:
    with ThreeBrokers(SETTINGS) as broker:
        yield broker


@pytest.fixture
def copiers(broker: KcompatBroker, tmp_path: Path) -> Iterator[list[Copier]]:
    """One of each kind whose programs are there."""
    kinds: list[tuple[str, list[str], Sequence[str]]] = []
    if has_java():
        kinds.append(("java-3.9", java(tmp_path, "3.9.2"), CLASSIC))
        kinds.append(("java-4.3", java(tmp_path, "4.3.0"), BY_BROKER))
    kinds += [(kind, go(kind), []) for kind in ("copyfranz", "copysarama")]
    kinds.append(("copyfranz-848", go("copyfranz"), BY_BROKER))
    kinds.append(("confluent-848", confluent(), BY_BROKER))
    kinds.append(("kafkajs", ["node", str(HERE / "drivers" / "copier.js")], []))
    there = [each for each in kinds if shutil.which(each[1][0])]
    if not there:
        pytest.skip("run python interop-tests/fetch.py")
    with ExitStack() as running:
        every = []
        for kind, command, settings in there:
            log = tmp_path / f"{kind}.log"
            names = f"{kind}-target", f"{kind}-copiers"
            every.append(Copier(kind, command, settings, broker.bootstrap, *names, log))
            running.callback(every[-1].kill)
        yield every


def done(copier: Copier) -> int:
    """How many records it has copied."""
    return copied(copier.bootstrap, copier.group)


def all_tended(copiers: list[Copier], so_far: int, patience: Patience) -> None:
    """Until each of them has copied so many."""
    while behind := [each for each in copiers if done(each) < so_far]:
        for each in copiers:
            each.tend()
        said = "\n".join(f"{each.kind}: {done(each)}\n{each.said()}" for each in behind)
        assert patience.lasts, f"not all have copied {so_far}\n{said}"
        time.sleep(0.1)


@pytest.mark.timeout(PATIENCE_S + 120)
def test_what_each_kind_copies_is_there_once_and_in_order(
    broker: KcompatBroker, copiers: list[Copier]
) -> None:
    patience = Patience(PATIENCE_S)
    source = Source(broker.bootstrap, [each.target for each in copiers])
    source.add(100)
    all_tended(copiers, 100, patience)
    for accident in ("copiers", "broker"):
        before = source.count
        source.add(STEP)
        if accident == "broker":
            all_tended(copiers, before + PER_TRANSACTION, patience)
            broker.kill()
            broker.start()
        else:
            for each in copiers:
                all_tended([each], before + PER_TRANSACTION, patience)
                each.kill()
    all_tended(copiers, source.count, patience)
    for each in copiers:
        while not is_settled(broker.bootstrap, each.target):
            assert patience.lasts
            time.sleep(0.1)
        assert read_committed(broker.bootstrap, each.target) == source.rows, each.kind
