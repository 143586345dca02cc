"""A TCP port that serves the metadata store of this process to ZooKeeper clients of this machine."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.config.errors import ConfigError
from kcompat.net.listener import ListenerError
from kcompat.store.process_store import ProcessStore
from kcompat.zookeeper_server.server import ZooKeeperServer
from kcompat.zookeeper_server.service import ServerConfig

if TYPE_CHECKING:
    from kcompat.clock import Clock
    from kcompat.config.broker import BrokerConfig
    from kcompat.node.environment import Environment
    from kcompat.store.process_session import ProcessSession


class ZooKeeperPort:
    """An address at which the store of a broker is served, from the broker's start to its stop."""

    def __init__(self, host: str, port: int) -> None:
        """Keep the address to bind to; port 0 stands for any free one."""
        self.host = host
        self.port = port
        """The bound port, once the broker has started."""

    def serving(self, environment: Environment) -> Environment:
        """Return the environment with its store served on this port."""

        def open_store(config: BrokerConfig, clock: Clock) -> _StoreOnPort:
            store = environment.open_store(config, clock)
            if not isinstance(store, ProcessStore):
                raise ConfigError("The metadata store is elsewhere: nothing to serve to ZooKeeper's clients.")
            settings = ServerConfig(client_port=self.port, data_dir=config.log_dirs[0])
            return _StoreOnPort(store, ZooKeeperServer(store, clock, environment.random, settings), self)

        return replace(environment, open_store=open_store)


class _StoreOnPort:
    """A metadata store whose port opens before its first session, and closes before the store does."""

    is_own = True

    def __init__(self, store: ProcessStore, server: ZooKeeperServer, port: ZooKeeperPort) -> None:
        self._store = store
        self._server = server
        self._port = port
        self._is_open = False

    async def session(self) -> ProcessSession:
        """Return a session, as `Sessions.session` does. Raises ListenerError as well."""
        if not self._is_open:
            await self._open()
        return await self._store.session()

    async def close(self) -> None:
        await self._server.close()
        await self._store.close()

    async def _open(self) -> None:
        host, port = self._port.host, self._port.port
        try:
            await self._server.open(host)
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            reason = "the port is already in use" if taken else error.strerror or error
            sentence = f"Cannot listen on {host}:{port} for ZooKeeper's clients: {reason}."
            raise ListenerError(sentence) from error
        self._is_open = True
        self._port.port = self._server.port
