"""The base class of brokers and clusters inside this process: a thread, a directory, a start and a stop."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from abc import abstractmethod
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kcompat.config.broker import BrokerConfig
from kcompat.descriptors import raise_limit
from kcompat.embedded.asynchronous import AsyncContext
from kcompat.embedded.controlled import Controlled, Nodes
from kcompat.embedded.first_topics import read_topics
from kcompat.embedded.observers import observers
from kcompat.embedded.settings import check_timeout
from kcompat.embedded.timing import Timed
from kcompat.errors import StartError, StartTimeoutError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    from kcompat.embedded.addresses import Listener
    from kcompat.embedded.first_topics import Topics
    from kcompat.embedded.thread import LoopThread
    from kcompat.node.development import Development
    from kcompat.node.environment import Environment

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


@contextmanager
def starting(what: str, timeout_s: float) -> Iterator[None]:
    """Raise the start errors of the `with` block as StartError, with a sentence about `what`."""
    from kcompat.store.interface import StoreError

    try:
        yield
    except StoreError as error:
        raise StartError(str(error)) from error
    except TimeoutError as error:
        raise StartTimeoutError(f"{what} did not start within {timeout_s:g} s") from error


class Embedded(AsyncContext, Timed, Controlled[Nodes]):
    """Base class that runs brokers on a loop in a thread of its own, from `start` to `stop`."""

    def __init__(
        self,
        what: str,
        values: Mapping[str, str],
        development: Development,
        topics: Topics | None,
        brokers: int = 1,
    ) -> None:
        """Check the settings. `what` names this object in messages; `values` are Kafka's keys that differ
        from the defaults, to which `development` adds security. If they name no directory, each start creates
        a temporary one. `topics` exist after a start of this number of brokers. Raises ConfigError,
        UsageError.
        """
        self._what = what
        self._development = development
        self._config = development.secured(BrokerConfig(values))
        self._topics = read_topics(topics, self._config, brokers)
        self._is_temporary = not values.get("log.dirs") and not values.get("log.dir")
        self._started: tuple[LoopThread, Nodes] | None = None

    @property
    @abstractmethod
    def bootstrap_servers(self) -> str:
        """Addresses for clients, as in `bootstrap.servers`. Raises UsageError if no broker is running."""

    @property
    def is_started(self) -> bool:
        """Whether `start` has returned, and `stop` was not called since."""
        return self._started is not None

    @abstractmethod
    def _listeners(self) -> Sequence[Mapping[str, Listener]]:
        """Return the listeners of each running broker by name. Raises UsageError if none is running."""

    @abstractmethod
    async def _begin(self, config: BrokerConfig) -> Nodes:
        """Start the brokers, on the loop of the thread; after a failure nothing is left running."""

    @abstractmethod
    async def _end(self, nodes: Nodes) -> None:
        """Stop the brokers, on the loop of the thread."""

    def start(self, timeout_s: float = START_TIMEOUT_S) -> Self:
        """Start and wait until clients are served; after a failure nothing is left running.

        The soft limit of open files of this process is raised to the hard one.

        Raises:
            UsageError: the brokers are started already.
            ConfigError: the configuration has an error that the constructor could not detect.
            StartError: the port or the directory cannot be used, or the metadata store cannot be reached;
                StartTimeoutError if the start takes longer than `timeout_s`.
        """
        check_timeout(timeout_s)
        if self._started is not None:
            raise UsageError(f"{self._what} is started already: stop it before you start it again")
        from kcompat.embedded.thread import LoopThread  # imports asyncio

        raise_limit()
        for observer in observers:
            observer.starting(self)
        with ExitStack() as undo:
            config = self._config
            if self._is_temporary:
                directory, remove = _temporary_directory(self)
                undo.callback(remove)
                config = config.with_static({"log.dirs": directory})
            thread = LoopThread(self._timing.loop_factory())
            undo.callback(thread.close)
            self._bind_control(undo)
            with starting(self._what, timeout_s):
                nodes = thread.call(self._begin(config), timeout_s)
            undo.callback(self._end_here, thread, nodes)
            self._start_control(thread, nodes, undo)
            self._ca_file = self._development.write_ca(config.log_dirs[0])
            self._undo = undo.pop_all()
        self._started, self._started_config = (thread, nodes), config
        return self

    def stop(self) -> None:
        """Shut down cleanly and remove a temporary directory. Does nothing if not started."""
        if self._started is not None:
            self._hasten()
            self._started = None
            self._undo.close()

    def _hasten(self) -> None:
        """End the faults of slow disks, for which a stop would wait."""
        from kcompat.instrumentation.disturbable_files import DisturbableFiles

        for node in self._running_nodes():
            if isinstance(files := node.parts.environment.files, DisturbableFiles):
                files.hasten()

    @property
    def data_dir(self) -> Path:
        """The first directory of data. Raises UsageError if each start creates a temporary one, and the
        brokers are not started.
        """
        if self._is_temporary:
            self._running()
            return Path(self._started_config.log_dirs[0])
        return Path(self._config.log_dirs[0])

    @property
    def ca_file(self) -> str:
        """Path of the PEM file with the certificate authority that clients trust, until the stop. Raises
        UsageError if there is no TLS or the brokers are not started.
        """
        self._running()
        if self._ca_file is None:
            raise UsageError(f"{self._what} has no certificates: make it with tls=True")
        return self._ca_file

    def client_config(
        self,
        user: str | None = None,
        *,
        library: str = "confluent",
        mechanism: str = "PLAIN",
        listener: str | None = None,
    ) -> dict[str, object]:
        """Return the settings with which a client of a library connects, and logs in as a user.

        `library` is `confluent`, `kafka-python`, `aiokafka`, `java` or `spark`; `mechanism` is `PLAIN`,
        `SCRAM-SHA-256` or `SCRAM-SHA-512`. If the brokers have TLS but no users, the client authenticates by
        a certificate of the user. `listener` is the name of a listener, by default the first.

        Raises:
            UsageError: the brokers are not started, or an argument is not valid.
        """
        from kcompat.security.client_settings import SETTINGS

        self._running()
        if not isinstance(library, str) or library not in SETTINGS:
            raise UsageError(f"the settings of {library!r} are not known: use one of {', '.join(SETTINGS)}")
        config = self._started_config
        names = [each.name for each in config.listeners]
        if listener is None:
            listener = names[0]
        elif listener not in names:
            raise UsageError(f"there is no listener {listener!r}: use one of {', '.join(names)}")
        servers = ",".join(each[listener].bootstrap_servers for each in self._listeners())
        return SETTINGS[library](
            self._development.access(config, servers, user, mechanism, names.index(listener))
        )

    def _stored(self, environment: Environment) -> Environment:
        """Return an environment whose metadata store lasts as long as the directory of the brokers."""
        if not self._is_temporary:
            return environment
        from kcompat.node.environment import with_store_in_memory

        return with_store_in_memory(environment)

    def _end_here(self, thread: LoopThread, nodes: Nodes) -> None:
        with suppress(TimeoutError):  # a part that does not stop ends with its thread
            if thread.is_here:
                thread.call(self._end(nodes), STOP_TIMEOUT_S)

    def _running(self) -> tuple[LoopThread, Nodes]:
        if self._started is None:
            raise UsageError(
                f"{self._what} is not started: use it in a with statement, or call start() first"
            )
        return self._started

    def __repr__(self) -> str:
        name = type(self).__name__
        if not self.is_started:
            return f"<{name}, not started>"
        try:
            servers = self.bootstrap_servers
        except UsageError:
            servers = "no address"
        return f"<{name} at {servers}, data in {self.data_dir}>"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        if error is not None:
            for observer in observers:
                observer.failing(self)
        self.stop()


def _temporary_directory(owner: object) -> tuple[str, Callable[[], object]]:
    """Return a new directory and its finalizer, which runs at the latest when the owner or this process ends.

    Raises:
        StartError: the directory cannot be created.
    """
    try:
        directory = tempfile.mkdtemp(prefix="kcompat-")
    except OSError as error:
        raise StartError(
            f"No temporary directory can be made ({error.strerror}): set TMPDIR, or give a data_dir"
        ) from error
    return directory, weakref.finalize(owner, _remove, directory, os.getpid())


def _remove(directory: str, owner: int) -> None:
    """Remove a temporary directory, unless this is a forked child: the directory is the parent's."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)
