"""How long 60 members take until each has its partition, and until the others have those of a third of them
that was killed.

The members are librdkafka's, in processes of their own, as they have to be killed. How long a session lasts
after its member is gone, and how often members heartbeat, is the same with both brokers, and part of what is
measured; so is what a broker waits of its own accord (`group.initial.rebalance.delay.ms` has its default).
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import group_requests
import members
import peers
import system
from report import Figure
from trial import Measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trial import Numbers, Trial

MEMBERS = 60
PROCESSES = 3
PATIENCE_S = 120
BROKER: Mapping[str, str] = {
    **peers.PROPERTIES,
    "group.consumer.min.session.timeout.ms": str(members.SESSION_MS),
    "group.consumer.session.timeout.ms": str(members.SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": str(members.HEARTBEAT_MS),
    "group.consumer.heartbeat.interval.ms": str(members.HEARTBEAT_MS),
}
"""Set on all brokers."""
OF_KAFKA: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "3000",
    "group.consumer.assignment.interval.ms": "1000",
}
"""Kafka's defaults, which the tests do without; Kafka 3.9 passes over the second."""


class _Process:
    """A third of the members, and what they have."""

    def __init__(self, trial: Trial, topic: str, group: str, protocol: str, count: int) -> None:
        program = [sys.executable, str(Path(__file__).with_name("members.py"))]
        self._process = subprocess.Popen(
            [*program, trial.broker.bootstrap, topic, group, protocol, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.changed_s = 0.0
        self.has: dict[int, list[int]] = {number: [] for number in range(count)}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def begin(self) -> None:
        """Have the members join."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """End them without a word."""
        self._process.kill()
        self._process.communicate()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # the pipe is closed when the process is killed
            for line in self._process.stdout:
                at, number, *partitions = line.split()
                self.has[int(number)] = [int(index) for index in partitions]
                self.changed_s = float(at)


def form_and_settle(trial: Trial, protocol: str) -> Numbers:
    """Both times, in s, and the processor time of the broker for both."""
    count = max(PROCESSES, trial.count(MEMBERS))
    count -= count % PROCESSES
    group = f"{trial.label}-group"
    with trial.topic(count) as topic, _processes(trial, topic, group, protocol, count) as running:
        with peers.client(trial.broker) as connection:
            group_requests.await_coordinator(connection, group)
        cpu_s = system.cpu_seconds(trial.broker.pid)
        began_s = time.monotonic()
        for process in running:
            process.begin()
        formed_s = _settled(running, count) - began_s
        killed_s = time.monotonic()
        running.pop().kill()
        settled_s = _settled(running, count) - killed_s
        cpu_s = system.cpu_seconds(trial.broker.pid) - cpu_s
    return {
        f"form-{protocol}": formed_s,
        f"settle-{protocol}": settled_s,
        f"form-and-settle-{protocol}-cpu": cpu_s * 1e3,
    }


@contextlib.contextmanager
def _processes(trial: Trial, topic: str, group: str, protocol: str, count: int) -> Iterator[list[_Process]]:
    running = [_Process(trial, topic, group, protocol, count // PROCESSES) for _ in range(PROCESSES)]
    try:
        yield running
    finally:
        for process in running:
            process.kill()


def _settled(running: list[_Process], partitions: int) -> float:
    """When each partition came to have one of these members, and each member one partition at least."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        shares = [share for process in running for share in process.has.values()]
        if all(shares) and sorted(index for share in shares for index in share) == list(range(partitions)):
            return max(process.changed_s for process in running)
        time.sleep(0.005)
    raise RuntimeError(f"{partitions} partitions were not shared out in {PATIENCE_S} s")


CLASSIC = Measure("classic-group", partial(form_and_settle, protocol="classic"))
CONSUMER = Measure("consumer-group", partial(form_and_settle, protocol="consumer"))

FIGURES = (
    Figure("form-classic", "60 classic members form a group", "s", "<= 0.5"),
    Figure("settle-classic", "  settle after a third was killed", "s", "<= 0.5"),
    Figure("form-and-settle-classic-cpu", "  broker CPU of both", "ms", "<= 0.5"),
    Figure("form-consumer", "60 members of KIP-848 form a group (beside Kafka 4.3.0)", "s", "<= 0.5"),
    Figure("settle-consumer", "  settle after a third was killed", "s", "<= 0.5"),
    Figure("form-and-settle-consumer-cpu", "  broker CPU of both", "ms", "<= 0.5"),
)
