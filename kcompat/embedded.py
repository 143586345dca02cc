"""`kcompat.Broker`: the same broker inside this process, in a thread of its own. For tests and notebooks."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from typing import TYPE_CHECKING, Self

from kcompat.broker import BrokerNode
from kcompat.config.broker import BrokerConfig

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from types import TracebackType

    from kcompat.log.cleaner.cleaner import Compacted

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


class Broker:
    """A broker on a free port, started by `with` or `start()`.

    Without `data_dir` it stores in a temporary directory that goes with it. `config` takes Kafka's own keys,
    such as `{"num.partitions": "4"}`; `port` 0 means any free port.

        with Broker() as broker:
            producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)

    Starting raises what the `kcompat start` command says in a sentence: ConfigError, ListenerError,
    LogDirectoryError, StoreUnavailableError.
    """

    def __init__(
        self,
        *,
        data_dir: str | PathLike[str] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        config: Mapping[str, str] | None = None,
    ) -> None:
        self._temporary = tempfile.mkdtemp(prefix="kcompat-") if data_dir is None else None
        self._config = BrokerConfig(
            {
                "listeners": f"PLAINTEXT://{host}:{port}",
                "log.dirs": str(self._temporary or data_dir),
                **(config or {}),
            }
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._node: BrokerNode | None = None
        self._failure: BaseException | None = None
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What clients take as `bootstrap.servers`: host and port of the first listener."""
        assert self._node is not None, "the broker is not started"
        return self._node.bootstrap_servers

    def start(self) -> Self:
        """Start and wait until clients are served."""
        assert self._thread is None, "the broker is started already"
        self._thread = threading.Thread(target=self._run, name="kcompat", daemon=True)
        self._thread.start()
        if not self._ready.wait(START_TIMEOUT_S):
            raise TimeoutError(f"the broker did not start within {START_TIMEOUT_S:.0f} s")
        if self._failure is not None:
            self._thread.join()
            self._remove_temporary()
            raise self._failure
        return self

    def stop(self) -> None:
        """Shut down cleanly; a temporary directory is removed. Harmless when not started."""
        if self._thread is None or self._loop is None or self._stopping is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(STOP_TIMEOUT_S)
        self._thread = None
        self._remove_temporary()

    def compact(self, topic: str, timeout_s: float | None = None) -> list[Compacted]:
        """Compact a topic now, whatever its dirty ratio, and wait until that is done; one result a partition.

        Raises TimeoutError; the cleaning goes on then.
        """
        assert self._node is not None, "the broker is not started"
        assert self._loop is not None, "the broker is not started"
        return asyncio.run_coroutine_threadsafe(self._node.compact(topic), self._loop).result(timeout_s)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as failure:
            self._failure = failure
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        node = BrokerNode(self._config)
        await node.start()
        self._node = node
        self._ready.set()
        try:
            await self._stopping.wait()
        finally:
            await node.stop()

    def _remove_temporary(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
