"""The ports of a broker to the outside: time, random numbers, files, threads, the metadata store and the
network.

A broker gets its environment when it is made and reaches the outside in no other way. So a simulation can
hold many brokers, with a clock that it advances itself and random numbers from a seed.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kcompat.config.errors import ConfigError
from kcompat.log.cleaner import runners
from kcompat.log.files import FILES
from kcompat.net.admin_socket import AdminSocket
from kcompat.net.host_name import host_name
from kcompat.net.loop_clock import LoopClock
from kcompat.net.loop_iteration import LoopIteration
from kcompat.net.outbound_socket import SocketConnector
from kcompat.net.plain_listener import bind
from kcompat.node.layout import insist_on_no_member
from kcompat.store.process_store import ProcessStore
from kcompat.store.sqlite_journal import METADATA_FILE, SqliteJournal
from kcompat.worker import ThreadWorker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from random import Random

    from kcompat.clock import Clock
    from kcompat.config.broker import BrokerConfig
    from kcompat.log.cleaner.job import CleanJob
    from kcompat.log.cleaner.runners import Runner
    from kcompat.log.files import Files
    from kcompat.net.admin_socket import Command
    from kcompat.net.listener import Bind
    from kcompat.net.outbound import Connect
    from kcompat.node.hooks import Hooks
    from kcompat.store.interface import Sessions
    from kcompat.worker import Worker

    HostName: TypeAlias = Callable[[], Awaitable[str]]


class Administration(Protocol):
    """The port by which commands on the same machine reach a broker."""

    async def open(self) -> None:
        """Start to serve commands."""

    async def close(self) -> None:
        """Cancel running commands, and serve no more."""

    def abandon(self) -> None:
        """Stop at once, as if the process had ended."""


class Environment(Struct, frozen=True):
    """The ports of one broker. All of them belong to the event loop that runs it."""

    clock: Clock
    random: Random
    """Source of the ids of topics, clusters, members and sessions, of placement, and of jitter."""
    files: Files
    """The port to the files of the log directories."""
    start_worker: Callable[[str, int], Worker]
    """Function that returns a worker with threads beside the event loop: `start_worker(name, threads)`."""
    start_cleaning: Callable[[CleanJob], Runner]
    """Function that starts to compact one log, in another process or in this one. May raise OSError."""
    open_store: Callable[[BrokerConfig, Clock], Sessions]
    """Function that opens the metadata store of the cluster. Raises ConfigError, StoreUnavailableError."""
    bind: Bind
    """Function that opens a listener."""
    connect: Connect
    """Function that opens a connection to another broker."""
    host_name: HostName
    """Function that returns the name at which other machines reach this one, within a few seconds."""
    administration: Callable[[str, Mapping[str, Command]], Administration]
    """Function that makes the port for commands of the same machine: `administration(directory, commands)`.
    """
    instrument: Callable[[Hooks], object] = lambda _hooks: None
    """Function that attaches instruments to a broker, called before the broker accepts clients."""
    iteration: LoopIteration | None = None
    """The `LoopIteration` of the event loop; None if sockets are not served in iterations."""


def real_environment() -> Environment:
    """Return the environment of this process: its event loop, clock, files and network."""
    loop = asyncio.get_running_loop()
    iteration = LoopIteration(loop)
    return Environment(
        clock=LoopClock(loop, iteration),
        random=SystemRandom(),
        files=FILES,
        start_worker=ThreadWorker,
        start_cleaning=runners.start,
        open_store=_open_store,
        bind=bind,
        connect=SocketConnector(loop),
        host_name=host_name,
        administration=AdminSocket,
        iteration=iteration,
    )


def _open_store(config: BrokerConfig, clock: Clock) -> Sessions:
    if config.string("zookeeper.connect"):
        from kcompat.store.zookeeper.sessions import ZooKeeper
        from kcompat.store.zookeeper.settings import ZooKeeperSettings, credentials

        return ZooKeeper(ZooKeeperSettings.read(config.get, credentials(os.environ)))
    directory = Path(config.log_dirs[0])
    insist_on_no_member(str(directory.absolute()), FILES)
    make_data_directory(directory)
    return ProcessStore(SqliteJournal(directory / METADATA_FILE), clock.now_ms)


def with_store_in_memory(environment: Environment) -> Environment:
    """Return an environment whose own metadata store ends with the process. It is for brokers with a
    temporary directory: their metadata need not wait for the disk.
    """

    def open_store(config: BrokerConfig, clock: Clock) -> Sessions:
        if config.string("zookeeper.connect"):
            return environment.open_store(config, clock)
        return ProcessStore.in_memory(clock.now_ms)

    return replace(environment, open_store=open_store)


def make_data_directory(directory: Path) -> None:
    """Create a data directory unless it exists. Raises ConfigError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ConfigError(f"The data directory {directory} is a file, not a directory.") from error
    except OSError as error:
        raise ConfigError(f"The data directory {directory} cannot be made: {error.strerror}.") from error
