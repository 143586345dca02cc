"""Brokers and programs that are killed, and go on."""

from __future__ import annotations

import signal
import subprocess
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from broker_cluster import BrokerCluster
from support.kcompat_broker import KcompatBroker

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

PATIENCE_S = 300
"""How long one thing may take that has to come: far more than it takes on a machine that has much to do."""


class Brokers:
    """One broker or several, of which one at a time is killed and started again."""

    def __init__(
        self, addresses: Mapping[int, tuple[str, int]], restarts: Mapping[int, Callable[[], object]]
    ) -> None:
        """Where they are, by id; `restarts` kill the broker of that id, and return when it runs again."""
        self.addresses = addresses
        self.bootstrap = ",".join(f"{host}:{port}" for host, port in addresses.values())
        self._restarts = restarts

    def accident(self, choice: random.Random) -> None:
        """Kill any of them and start it again."""
        self.restart(choice.choice(sorted(self._restarts)))

    def restart(self, broker_id: int) -> None:
        """Kill this one and start it again."""
        self._restarts[broker_id]()


@contextmanager
def one_broker(settings: Mapping[str, str]) -> Iterator[Brokers]:
    """A broker alone, with the id 1."""
    with KcompatBroker(settings) as broker:

        def restart() -> None:
            broker.kill()
            broker.start(PATIENCE_S)

        yield Brokers({1: (broker.host, broker.port)}, {1: restart})


@contextmanager
def three_brokers(settings: Mapping[str, str]) -> Iterator[Brokers]:
    """Brokers 1 to 3 over a ZooKeeper. Every other one that is killed comes back only when others lead what
    it led, the rest at once.
    """
    with BrokerCluster(settings=settings) as cluster:
        kills = 0

        def restart(broker_id: int) -> None:
            nonlocal kills
            kills += 1
            cluster.brokers[broker_id].kill()
            if kills % 2:
                cluster.wait(lambda shown: not leads(shown, broker_id), PATIENCE_S)
            cluster.restart(broker_id, PATIENCE_S)
            cluster.wait_until_in_sync(PATIENCE_S)

        yield Brokers(
            {each: (broker.host, broker.port) for each, broker in cluster.brokers.items()},
            {each: partial(restart, each) for each in cluster.brokers},
        )


def leads(shown: Any, broker_id: int) -> bool:
    """Whether a broker leads some partition, by this metadata."""
    return any(part.leader_id == broker_id for row in shown.topics for part in row.partitions)


class Programs:
    """Processes by name; one that ends is started again."""

    def __init__(self, commands: Mapping[str, Sequence[str]], home: Path) -> None:
        """Prepare processes of these commands. The output of each goes to the file NAME in `home`, errors of
        all to `errors`.
        """
        self._commands = commands
        self._home = home
        self._gave_up = self._stalled = 0
        self._processes = {name: self._start(name) for name in commands}

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        with (self._home / name).open("ab") as said, (self._home / "errors").open("ab") as errors:
            return subprocess.Popen(self._commands[name], stdout=said, stderr=errors)

    def tend(self) -> None:
        """Start again whoever has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                self._gave_up += 1
                self._stalled += process.returncode == -signal.SIGALRM
                self._processes[name] = self._start(name)

    def accident(self, choice: random.Random) -> None:
        """Kill any of them in the middle of what it does, and start it again."""
        name = choice.choice(sorted(self._processes))
        self._processes[name].kill()
        self._processes[name].wait()
        self._processes[name] = self._start(name)

    def left(self) -> str:
        """How often any of them ended that was not killed; some have an alarm for when nothing goes on."""
        return f"{self._gave_up} gave up, {self._stalled} of these as they stalled"

    def said(self) -> dict[str, str]:
        """Return the output of each process so far."""
        return {name: (self._home / name).read_text() for name in self._commands}

    def errors(self) -> str:
        """The end of what they complained of."""
        path = self._home / "errors"
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    def close(self) -> None:
        """End them all."""
        for process in self._processes.values():
            process.kill()
            process.wait()
