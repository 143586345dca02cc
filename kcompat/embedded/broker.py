"""`kcompat.Broker`: a broker inside this process, in a thread of its own."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Self

from kcompat.config.broker import BrokerConfig, as_log_dirs
from kcompat.config.listeners import Endpoint
from kcompat.embedded.home import as_texts, temporary_directory
from kcompat.embedded.thread import LoopThread
from kcompat.node.broker import BrokerNode
from kcompat.node.world import real_world

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from types import TracebackType

    from kcompat.log.cleaner.cleaner import Compacted

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
        values.update(as_texts(config))
        self._temporary = not values.get("log.dirs") and not values.get("log.dir")
        self._config = BrokerConfig(values)
        self._started: tuple[LoopThread, BrokerNode] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What clients take as `bootstrap.servers`: host and port of the first listener."""
        _, node = self._running()
        return node.bootstrap_servers

    def start(self, timeout_s: float = START_TIMEOUT_S) -> Self:
        """Start and wait until clients are served. TimeoutError, and nothing left, if that takes too long."""
        assert self._started is None, "the broker is started already"
        with ExitStack() as undo:
            config = self._config
            if self._temporary:
                directory, remove = temporary_directory(self)
                undo.callback(remove)
                config = config.with_static({"log.dirs": directory})
            thread = LoopThread()
            undo.callback(thread.close)
            try:
                node = thread.call(_start(config), timeout_s)
            except TimeoutError as error:
                raise TimeoutError(f"the broker did not start within {timeout_s:.0f} s") from error
            undo.callback(_stop, thread, node)
            self._undo = undo.pop_all()
        self._started = thread, node
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
        thread, node = self._running()
        return thread.call(node.compact(topic), timeout_s)

    def _running(self) -> tuple[LoopThread, BrokerNode]:
        assert self._started is not None, "the broker is not started"
        return self._started

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


async def _start(config: BrokerConfig) -> BrokerNode:
    node = BrokerNode(config, real_world())
    await node.start()
    return node


def _stop(thread: LoopThread, node: BrokerNode) -> None:
    with suppress(TimeoutError):  # a broker that hangs ends with its thread
        if thread.is_here:
            thread.call(node.stop(), STOP_TIMEOUT_S)
