"""A topic copied in transactions by processes that are killed, over brokers that are killed.

`KCOMPAT_COPIED=100000` copies that many records instead of a few, `KCOMPAT_KILLS=10` kills as often.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_cluster import BrokerCluster
from copying import PATIENCE_S, Source, copied, is_settled, read_committed
from support.kcompat_broker import KcompatBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORDS = int(os.environ.get("KCOMPAT_COPIED", "6000"))
KILLS = int(os.environ.get("KCOMPAT_KILLS", "2"))
PER_TRANSACTION = 750 if RECORDS >= 50_000 else 100
COPIERS = 3
LASTS_S = PATIENCE_S * max(1, KILLS // 2)
COPIER = Path(__file__).with_name("drivers") / "copier.py"
SINGLE = {"transaction.state.log.num.partitions": "5", "offsets.topic.num.partitions": "5"}


class Brokers:
    """What is killed and started again."""

    def __init__(self, bootstrap: str, restarts: list[Callable[[], object]]) -> None:
        self.bootstrap = bootstrap
        self._restarts = restarts

    def accident(self, choice: random.Random) -> None:
        """Kill one and start it again."""
        choice.choice(self._restarts)()


@pytest.fixture(params=[1, 3])
def brokers(request: pytest.FixtureRequest) -> Iterator[Brokers]:
    """One broker, or three over a ZooKeeper."""
    with ExitStack() as running:
        if request.param == 1:
            broker = running.enter_context(KcompatBroker(SINGLE))

            def restart() -> None:
                broker.kill()
                broker.start()

            yield Brokers(broker.bootstrap, [restart])
            return
        cluster = running.enter_context(BrokerCluster(settings={"transaction.state.log.num.partitions": "5"}))

        def kill(broker_id: int) -> None:
            cluster.brokers[broker_id].kill()
            time.sleep(0.5)  # for others to lead what it led
            cluster.restart(broker_id)
            cluster.wait_until_in_sync(60)

        yield Brokers(cluster.bootstrap, [lambda each=each: kill(each) for each in cluster.brokers])


class Copiers:
    """The processes that copy; one that ends is started again."""

    def __init__(self, bootstrap: str, log: Path) -> None:
        self._bootstrap = bootstrap
        self._log = log
        self._processes = {f"copier-{number}": self._start(f"copier-{number}") for number in range(COPIERS)}

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        arguments = [self._bootstrap, "source", "target", "copiers", name, str(PER_TRANSACTION)]
        with self._log.open("ab") as log:
            return subprocess.Popen([sys.executable, COPIER, *arguments], stdout=log, stderr=log)

    def tend(self) -> None:
        """Start again whoever has given up."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                self._processes[name] = self._start(name)

    def accident(self, choice: random.Random) -> None:
        """Kill one in the middle of what it does."""
        self._processes[choice.choice(sorted(self._processes))].kill()

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()


@pytest.mark.timeout(2 * LASTS_S + 60)
def test_each_record_is_copied_once_and_in_order(brokers: Brokers, tmp_path: Path) -> None:
    choice = random.Random(7)
    source = Source(brokers.bootstrap, ["target"])
    source.add(RECORDS)
    step = RECORDS // (2 * KILLS + 1)
    copiers = Copiers(brokers.bootstrap, tmp_path / "copiers.log")
    accidents = [copiers.accident, brokers.accident] * KILLS
    so_far, next_at = 0, step
    try:
        deadline = time.monotonic() + LASTS_S
        while so_far < source.count or accidents or not is_settled(brokers.bootstrap, "target"):
            said = (tmp_path / "copiers.log").read_text()[-4000:]
            assert time.monotonic() < deadline, f"{so_far} of {source.count} are copied\n{said}"
            if accidents and so_far >= next_at:
                accidents.pop()(choice)
                next_at = so_far + step
            if accidents and source.count - so_far < 2 * step:
                source.add(2 * step)  # they are quicker than the accidents
            copiers.tend()
            time.sleep(0.1)
            so_far = copied(brokers.bootstrap, "copiers")
    finally:
        copiers.close()
    assert read_committed(brokers.bootstrap, "target") == source.rows
