"""The base of brokers and clusters inside this process: a thread, a directory, a start and a stop."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from kcompat.config.broker import BrokerConfig
from kcompat.descriptors import raise_limit
from kcompat.embedded.thread import LoopThread
from kcompat.errors import StartError, StartTimeoutError, UsageError
from kcompat.store.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

Nodes = TypeVar("Nodes")

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


@contextmanager
def starting(what: str, timeout_s: float) -> Iterator[None]:
    """Raise the start errors of the `with` block as StartError, with a sentence about `what`."""
    try:
        yield
    except StoreError as error:
        raise StartError(str(error)) from error
    except TimeoutError as error:
        raise StartTimeoutError(f"{what} did not start within {timeout_s:.0f} s") from error


class Embedded(ABC, Generic[Nodes]):
    """Base class that runs brokers on a loop in a thread of its own, from `start` to `stop`."""

    def __init__(self, what: str, values: Mapping[str, str]) -> None:
        """Check the settings. `what` names this object in messages; `values` are Kafka's keys that differ
        from the defaults. If they name no directory, each start creates a temporary one. Raises ConfigError.
        """
        self._what = what
        self._config = BrokerConfig(values)
        self._is_temporary = not values.get("log.dirs") and not values.get("log.dir")
        self._started: tuple[LoopThread, Nodes] | None = None

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
            ConfigError: the configuration is not possible, which the constructor could not detect.
            StartError: the port or the directory cannot be used, or the metadata store cannot be reached;
                StartTimeoutError if the start takes longer than `timeout_s`.
        """
        if self._started is not None:
            raise UsageError(f"{self._what} is started already: stop it before you start it again")
        raise_limit()
        with ExitStack() as undo:
            config = self._config
            if self._is_temporary:
                directory, remove = _temporary_directory(self)
                undo.callback(remove)
                config = config.with_static({"log.dirs": directory})
            thread = LoopThread()
            undo.callback(thread.close)
            with starting(self._what, timeout_s):
                nodes = thread.call(self._begin(config), timeout_s)
            undo.callback(self._end_here, thread, nodes)
            self._undo = undo.pop_all()
        self._started = thread, nodes
        return self

    def stop(self) -> None:
        """Shut down cleanly and remove a temporary directory. Does nothing if not started."""
        if self._started is not None:
            self._started = None
            self._undo.close()

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

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
