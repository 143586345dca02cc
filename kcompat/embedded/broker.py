"""`kcompat.Broker`: a broker inside this process, in a thread of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.config.broker import as_log_dirs
from kcompat.config.listeners import Endpoint
from kcompat.embedded.home import as_texts
from kcompat.embedded.running import Embedded
from kcompat.node.broker import BrokerNode
from kcompat.node.world import real_world

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from kcompat.config.broker import BrokerConfig
    from kcompat.log.cleaner.cleaner import Compacted


class Broker(Embedded[BrokerNode]):
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
        super().__init__("the broker", values)

    async def _begin(self, config: BrokerConfig) -> BrokerNode:
        node = BrokerNode(config, real_world())
        await node.start()
        return node

    async def _end(self, nodes: BrokerNode) -> None:
        await nodes.stop()

    @property
    def bootstrap_servers(self) -> str:
        """What clients take as `bootstrap.servers`: host and port of the first listener."""
        _, node = self._running()
        return node.bootstrap_servers

    def compact(self, topic: str, timeout_s: float | None = None) -> list[Compacted]:
        """Compact a topic now, whatever its dirty ratio, and wait until that is done; one result a partition.

        Raises TimeoutError; the cleaning goes on then.
        """
        thread, node = self._running()
        return thread.call(node.compact(topic), timeout_s)
