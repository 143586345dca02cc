"""`kcompat.Broker`: a broker inside this process, in a thread of its own. For tests and notebooks."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
import weakref
from concurrent.futures import Future
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self, TypeVar

from kcompat.config.broker import BrokerConfig, as_log_dirs
from kcompat.config.listeners import Endpoint
from kcompat.node.broker import BrokerNode
from kcompat.node.world import real_world

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from os import PathLike
    from types import TracebackType

    from kcompat.log.cleaner.cleaner import Compacted

T = TypeVar("T")

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


class Broker:
    """A broker on a free port, started by `with` or `start()`.

    Without `data_dir` each start stores in a temporary directory, removed at the stop. `config` takes Kafka's
    own keys, such as `{"num.partitions": 4}`; `port` 0 means any free port.

        with Broker() as broker:
            producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)

    Values that are not allowed raise ConfigError at once. Starting raises what `kcompat start` reports in a
    sentence: ConfigError, ListenerError, LogDirectoryError, StoreUnavailableError.
    """

    def __init__(
        self,
        *,
        data_dir: str | PathLike[str] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        config: Mapping[str, str | float | bool] | None = None,
    ) -> None:
        values = {"listeners": str(Endpoint("PLAINTEXT", host, port, "PLAINTEXT"))}
        if data_dir is not None:
            values["log.dirs"] = as_log_dirs(data_dir)
        values.update((name, _text(value)) for name, value in (config or {}).items())
        self._temporary = not values.get("log.dirs") and not values.get("log.dir")
        self._config = BrokerConfig(values)
        self._started: _Started | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What clients take as `bootstrap.servers`: host and port of the first listener."""
        assert self._started is not None, "the broker is not started"
        return self._started.node.bootstrap_servers

    def start(self, timeout_s: float = START_TIMEOUT_S) -> Self:
        """Start and wait until clients are served. TimeoutError, and nothing left, if that takes too long."""
        assert self._started is None, "the broker is started already"
        with ExitStack() as undo:
            config = self._config
            if self._temporary:
                directory = tempfile.mkdtemp(prefix="kcompat-")
                undo.callback(weakref.finalize(self, _remove, directory, os.getpid()))
                config = config.with_static({"log.dirs": directory})
            started = _Started(config)
            undo.callback(started.stop)
            started.wait_until_ready(timeout_s)
            self._undo = undo.pop_all()
        self._started = started
        return self

    def stop(self) -> None:
        """Shut down cleanly; a temporary directory is removed. Harmless when not started."""
        if self._started is not None:
            self._started = None
            self._undo.close()

    def compact(self, topic: str, timeout_s: float | None = None) -> list[Compacted]:
        """Compact a topic now, whatever its dirty ratio, and wait until that is done; one result a partition.

        Raises TimeoutError; the cleaning goes on then.
        """
        assert self._started is not None, "the broker is not started"
        return self._started.call(self._started.node.compact(topic), timeout_s)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


class _Started:
    """From one start to its stop: the thread, its loop, the broker on it."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._ready: Future[None] = Future()
        self._stopping: Future[None] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="kcompat", daemon=True
        )
        self._thread.start()

    def wait_until_ready(self, timeout_s: float) -> None:
        """Raises what the broker's start raises, or TimeoutError."""
        try:
            self._ready.result(timeout_s)
        except TimeoutError as error:
            raise TimeoutError(f"the broker did not start within {timeout_s:.0f} s") from error

    def call(self, work: Coroutine[object, object, T], timeout_s: float | None) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def stop(self) -> None:
        """Wait until the broker has stopped. One that is still starting stops as soon as it is ready."""
        self._stopping.set_result(None)
        self._thread.join(STOP_TIMEOUT_S)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.node = BrokerNode(self._config, real_world())
        try:
            await self.node.start()
        except BaseException as failure:
            self._ready.set_exception(failure)
            return
        self._ready.set_result(None)
        try:
            await asyncio.wrap_future(self._stopping)
        finally:
            await self.node.stop()


def _remove(directory: str, owner: int) -> None:
    """Remove a temporary directory, unless this is a forked child: it is the parent's."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


def _text(value: str | float | bool) -> str:
    """A value as a properties file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
