"""The command's side of a cluster of processes: starts the processes, detects each end, and ends them in
order.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from kcompat import child
from kcompat.cli.processes.channel import (
    OF_REPORTS,
    Channel,
    Job,
    OwnStore,
    SeesAll,
    Started,
    StartRefused,
    Stop,
    StopAll,
)
from kcompat.config.errors import ConfigError
from kcompat.net.plain_listener import bind
from kcompat.node.listeners import insist_on_free_ports, reachable_host
from kcompat.node.spread import spread
from kcompat.wording import as_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.cli.processes.channel import Report
    from kcompat.config.broker import BrokerConfig
    from kcompat.config.first_topics import FirstTopic
    from kcompat.node.listeners import ServedListener
    from kcompat.security.added_users import AddedUser

Kind = TypeVar("Kind", Started, SeesAll)

ANY_PORT = ("127.0.0.1", 0)
"""Default address of the store: on this machine, at a free port."""

STORELESS_PATIENCE_S = 10.0
"""Seconds that brokers may take to end when the store has ended before them."""


class BrokerFailedError(Exception):
    """Error of a broker that did not start; the text is one sentence."""


class _Process:
    """The process of one broker, from its start to its end."""

    def __init__(self, broker_id: int, process: asyncio.subprocess.Process, channel: Channel[Report]) -> None:
        self.broker_id = broker_id
        self.channel = channel
        self._process = process

    @classmethod
    async def start(cls, broker_id: int) -> _Process:
        """Start a process, which waits for its job on the channel."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *child.command("kcompat.cli.processes", str(theirs.fileno())),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=child.environment(),
                process_group=0,  # so Ctrl-C signals only the command, which ends all in order
            )
        return cls(broker_id, process, await Channel.open(ours, OF_REPORTS))

    async def receive(self, kind: type[Kind]) -> Kind:
        """Return the next report, which must be of this kind. Raises BrokerFailedError if it is not."""
        report = await self.channel.receive()
        if isinstance(report, kind):
            return report
        match report:
            case StartRefused(sentence):
                raise BrokerFailedError(f"broker {self.broker_id}: {sentence}")
            case None:
                raise BrokerFailedError(f"broker {self.broker_id} {await self.fate()} while it started")
            case _:
                raise BrokerFailedError(f"broker {self.broker_id} was requested to end while it started")

    async def fate(self) -> str:
        """Wait for the end of the process; return a clause that says how it ended."""
        code = await self._process.wait()
        if code < 0:
            return f"was killed ({signal.Signals(-code).name})"
        return f"failed (exit code {code})" if code else "has ended"

    async def end(self, patience_s: float | None) -> int:
        """End the process cleanly, or kill it after `patience_s` (None: never); return the exit code."""
        self.channel.send(Stop())
        try:
            await asyncio.wait_for(self._process.wait(), patience_s)
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
        self.channel.close()
        return await self._process.wait()


class ProcessCluster:
    """Brokers 0, 1, 2, ... with one configuration, each in a process of its own."""

    def __init__(
        self,
        config: BrokerConfig,
        brokers: int,
        served_at: tuple[str, int] | None,
        log_level: str | None,
        users: Sequence[AddedUser],
        topics: Sequence[FirstTopic],
    ) -> None:
        """Prepare the configurations. `served_at` is where ZooKeeper clients find the store; None stands for
        a free port of this machine. A new cluster begins with `users`; `topics` exist after the start. Raises
        ConfigError.
        """
        if config.string("zookeeper.connect"):
            raise ConfigError(
                "--processes keeps the metadata in the first broker, but zookeeper.connect says that it is "
                "elsewhere: start each broker there by a command of its own"
            )
        self._configs = [_without_ensemble(each) for each in spread(config, brokers)]
        self._directory = config.log_dirs[0]
        self._log_level = log_level
        self._served_at = served_at or ANY_PORT
        self._users = tuple(users)
        self._topics = tuple(topics)
        self._processes: list[_Process] = []
        self._watches: set[asyncio.Task[None]] = set()
        self.has_failed = False
        """Whether the store ended unexpectedly, or a broker did not end cleanly."""
        self.over = asyncio.Event()
        """Set when the whole cluster must end: the store has ended, or a signal asked its process to."""
        self.addresses = ""
        """The brokers' addresses as in `bootstrap.servers`; empty until the brokers run."""
        self.served_listeners: list[ServedListener] = []
        """The listeners of the brokers, by id, once they run."""

    @property
    def zookeeper(self) -> tuple[str, int]:
        """Address at which the store is served, once the brokers run."""
        return self._served_at

    async def start(self) -> None:
        """Start the brokers; return when the image of each has all others. Raises ListenerError,
        BrokerFailedError.
        """
        for config in self._configs:
            insist_on_free_ports(bind, config)  # before any process starts
        for broker_id in range(len(self._configs)):
            self._processes.append(await _Process.start(broker_id))
        first, *others = self._processes
        self._give_job(first, {}, OwnStore(self._directory, *self._served_at, self._users))
        began = await first.receive(Started)
        host, port = self._served_at[0], began.zookeeper_port
        assert port is not None
        self._served_at = host, port
        at = reachable_host(host)
        for process in others:
            self._give_job(process, {"zookeeper.connect": as_address(at, port)})
        followed = await asyncio.gather(*(process.receive(Started) for process in others))
        await asyncio.gather(*(process.receive(SeesAll) for process in self._processes))
        self.addresses = ",".join(each.address for each in (began, *followed))
        self.served_listeners = [each for broker in (began, *followed) for each in broker.listeners]
        self._watches = {asyncio.create_task(self._watch(process)) for process in self._processes}

    def _give_job(self, process: _Process, changes: dict[str, str], store: OwnStore | None = None) -> None:
        config = {**self._configs[process.broker_id].static, **changes}
        brokers = len(self._configs)
        process.channel.send(Job(process.broker_id, brokers, config, self._log_level, store, self._topics))

    async def _watch(self, process: _Process) -> None:
        """Wait for the unexpected end of a process and print how it ended; end the cluster if the store has
        ended.
        """
        while (report := await process.channel.receive()) is not None:
            if isinstance(report, StopAll):
                self.over.set()
        fate = f"broker {process.broker_id} {await process.fate()}"
        if process is self._processes[0]:
            self.has_failed = True
            _say(f"{fate}, and the metadata store with it: the cluster ends")
            self.over.set()
        else:
            self._processes.remove(process)
            process.channel.close()
            _say(f"{fate}; the others go on")

    async def stop(self) -> None:
        """End all processes: the broker with the store last, since the others need the store to leave the
        cluster.
        """
        for watch in self._watches:
            watch.cancel()
        patience_s = STORELESS_PATIENCE_S if self.has_failed else None
        await asyncio.gather(*(self._end(process, patience_s) for process in self._processes[1:]))
        for first in self._processes[:1]:
            await self._end(first, None)

    async def _end(self, process: _Process, patience_s: float | None) -> None:
        if await process.end(patience_s) and self.addresses and not self.has_failed:
            self.has_failed = True
            _say(f"broker {process.broker_id} {await process.fate()} as it ended")


def _without_ensemble(config: BrokerConfig) -> BrokerConfig:
    """Return the configuration without the settings of an external ZooKeeper, which is not used."""
    return config.with_static({"zookeeper.ssl.client.enable": "false", "zookeeper.set.acl": "false"})


def _say(sentence: str) -> None:
    print(f"kcompat: {sentence}", file=sys.stderr, flush=True)
