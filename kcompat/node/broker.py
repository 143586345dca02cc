"""The life of one broker: its parts are started in order, and stopped in the opposite order.

A start checks that the ports are free, opens the metadata store, locks the data directories and loads the
logs, binds the listeners, takes part in the controller election and takes the leaderships (which loads the
groups). Only then does the broker accept clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.config.fixed_size import fit_to_size
from kcompat.config.kraft import insist_on_one_node
from kcompat.log.cleaner.cleaner import Compacted
from kcompat.log.cleaner.watch import compact_now
from kcompat.log.identity import stored_identity
from kcompat.migration.adoption import adopt
from kcompat.node.authorization import authorizer_of
from kcompat.node.chores import chores_of
from kcompat.node.housekeeping import Housekeeping
from kcompat.node.identity import find_identity
from kcompat.node.late_imports import LateImports
from kcompat.node.layout import insist_on_one
from kcompat.node.lifetime import Lifetime
from kcompat.node.listeners import address_of, advertise, insist_on_free_ports, keep_open, server_of
from kcompat.node.logins import check_listeners
from kcompat.node.parts import Parts
from kcompat.node.peer_security import insist_on_peer_security
from kcompat.node.storage_parts import StorageParts
from kcompat.node.tls import TlsListeners

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kcompat.log.cleaner.watch import Progress
    from kcompat.net.server import Server
    from kcompat.node.environment import Environment
    from kcompat.node.listeners import ServedListener
    from kcompat.security.authorizer import Authorizer


class BrokerNode:
    """One broker, on the event loop that runs `start`; `environment` belongs to that loop."""

    parts: Parts
    server: Server
    served: list[ServedListener]

    def __init__(
        self, config: BrokerConfig, environment: Environment, authorizer: Authorizer | None = None
    ) -> None:
        """Prepare a broker. `authorizer` decides what clients may do, in place of the configured one. Raises
        ConfigError, LogDirectoryError.
        """
        check_listeners(config)
        if config.string("zookeeper.connect"):
            insist_on_peer_security(config)
        insist_on_one_node(config.given)
        insist_on_one(config.log_dirs, environment.files)
        self._environment = environment
        self._authorizer = authorizer or authorizer_of(config)
        self._identity = stored_identity(config.log_dirs, environment.files)
        self._config = config
        self._lifetime = Lifetime()
        self._is_serving = False

    async def start(self) -> None:
        """Start all parts in order; if one fails, the parts started before it are stopped again.

        Raises ConfigError, LogDirectoryError, StorageError, StoreUnavailableError, ListenerError, each with
        one sentence.
        """
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self, *, hand_over: bool = True) -> None:
        """Move leaderships to other brokers, answer pending requests, then stop the parts, last started
        first. The data directories are left clean. Without `hand_over` the leaderships are not moved first.
        """
        try:
            if hand_over and self._is_serving:
                await self.parts.cluster.hand_leaderships_over()
        finally:
            self._is_serving = False
            await self._lifetime.end()

    def kill(self) -> None:
        """End as by kill -9: no peer is notified, and nothing more is written. The directories can be used
        again, and are as after a crash of the process.
        """
        self._lifetime.abandon()

    async def _start(self) -> None:
        config, environment, lifetime = self._config, self._environment, self._lifetime
        began = lifetime.began
        tls = TlsListeners(config)
        insist_on_free_ports(environment.bind, config)  # before any directory is created
        store = environment.open_store(config, environment.clock)
        began(store.close)
        session = await store.session()
        config, cluster_id = await find_identity(
            config, self._identity, session, environment.random, is_alone=store.is_own
        )
        feed = ConfigFeed(fit_to_size(config, 1) if store.is_own else config)
        storage = StorageParts(feed, environment, cluster_id)
        storage.open(lifetime)
        if store.is_own:
            await adopt(session, storage.logs, cluster_id, feed.current, environment.random)

        listeners = keep_open(environment.bind, config, tls.servers, lifetime)
        parts = self.parts = Parts(storage, session, self._authorizer, lifetime, keeps_metadata=store.is_own)
        self.server = server_of(parts, listeners)
        tls.follow(feed)
        told, self.served = await advertise(config, listeners, environment.host_name, is_alone=store.is_own)
        await parts.load_acls()
        await parts.cluster.join(told)
        parts.coordinators.start()
        began(storage.cleaner.stop, storage.cleaner.stop)
        storage.cleaner.start()
        housekeeping = Housekeeping(environment.clock, [*chores_of(parts), *tls.chores(feed)])
        began(housekeeping.stop, housekeeping.stop)
        housekeeping.start()
        self.server.start()
        began(self.server.stop, self.server.abandon)
        administration = environment.administration(config.log_dirs[0], {"compact": self.compacting})
        await administration.open()
        began(administration.close, administration.abandon)
        imports = LateImports(environment.clock, parts.services.server.served)
        began(imports.stop, imports.stop)
        imports.start()
        self._is_serving = True

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of the first listener, as in `bootstrap.servers`."""
        return address_of(self.server.listeners[0])

    async def compact(self, topic: str) -> list[Compacted]:
        """Compact the local partitions of a topic now; return the result of each."""
        return [result async for result in self.compacting(topic) if isinstance(result, Compacted)]

    def compacting(self, topic: str) -> AsyncIterator[Compacted | Progress]:
        """Compact as `compact` does, and yield progress reports in between."""
        storage = self.parts.storage
        return compact_now(storage.cleaner, [log for log in storage.logs if log.topic == topic])
