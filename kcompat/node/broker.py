"""The life of one broker: its parts are started in order, and stopped in the opposite order.

A start checks that the ports are free, opens the metadata store, locks the data directories and loads the
logs, binds the listeners, takes part in the controller election and takes the leaderships (which loads the
groups). Only then does the broker accept clients.

A restart in place ends only the parts above the store, the logs and the listeners, and starts new ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcompat.api.registry import SERVED
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.config.fixed_size import fit_to_size
from kcompat.config.kraft import insist_on_one_node
from kcompat.log.cleaner.cleaner import Compacted
from kcompat.log.cleaner.watch import compact_now
from kcompat.log.identity import stored_identity
from kcompat.migration.adoption import adopt
from kcompat.net.interception import Interception
from kcompat.node.authorization import authorizer_of
from kcompat.node.chores import chores_of
from kcompat.node.housekeeping import Housekeeping
from kcompat.node.identity import find_identity
from kcompat.node.late_imports import LateImports
from kcompat.node.layout import insist_on_one
from kcompat.node.lifetime import Lifetime
from kcompat.node.listeners import (
    address_of,
    advertise,
    insist_on_free_ports,
    keep_open,
    server_of,
    warn_of_open_doors,
)
from kcompat.node.logins import check_listeners
from kcompat.node.parts import Parts
from kcompat.node.peer_security import insist_on_peer_security
from kcompat.node.storage_parts import StorageParts, open_logs
from kcompat.node.tls import TlsListeners

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from kcompat.cluster.znodes import BrokerRegistration
    from kcompat.log.cleaner.watch import Progress
    from kcompat.log.manager import LogManager
    from kcompat.net.listener import Listener
    from kcompat.net.server import Server
    from kcompat.node.environment import Environment
    from kcompat.node.listeners import ServedListener
    from kcompat.security.authorizer import Authorizer
    from kcompat.store.interface import MetadataStore


class _Base(NamedTuple):
    """Things that a broker has from its start to its stop; a restart in place replaces the parts above."""

    config: BrokerConfig
    """The static configuration, with the broker's final id."""
    cluster_id: str
    keeps_metadata: bool
    logs: LogManager
    listeners: list[Listener]
    told: BrokerRegistration
    tls: TlsListeners


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
        self._given_authorizer = authorizer
        self._authorizer = authorizer or authorizer_of(config)
        self._identity = stored_identity(config.log_dirs, environment.files)
        self._config = config
        self._lifetime = Lifetime()
        self._parts_lifetime = Lifetime()  # of what a restart in place replaces
        self.interception = Interception()
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

    async def restart(self, prepare: Callable[[], Awaitable[MetadataStore]]) -> None:
        """End as by kill -9 and start again, except that the store, the logs and the listeners stay open: the
        port is not given up, and what was loaded need not be loaded again.

        `prepare` is called in between. It may change the store and the logs, and returns the session for the
        new parts. After a failure the broker is stopped. Raises what `prepare` and `start` raise.
        """
        self._is_serving = False
        try:
            self._parts_lifetime.abandon()
            self._authorizer = self._given_authorizer or authorizer_of(self._config)
            if self._base.tls.servers:
                self._base.tls.renew(self._base.config)
            await self._start_parts(await prepare())
            self._is_serving = True
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        config, environment, began = self._config, self._environment, self._lifetime.began
        tls = TlsListeners(config)
        insist_on_free_ports(environment.bind, config)  # before any directory is created
        store = environment.open_store(config, environment.clock)
        began(store.close)
        session = await store.session()
        config, cluster_id = await find_identity(
            config, self._identity, session, environment.random, is_alone=store.is_own
        )
        if store.is_own:
            config = fit_to_size(config, 1)
        logs = open_logs(config, environment, cluster_id, self._lifetime)
        if store.is_own:
            await adopt(session, logs, cluster_id, config, environment.random)

        listeners = keep_open(environment.bind, config, tls.servers, self._lifetime)
        told, self.served = await advertise(config, listeners, environment.host_name, is_alone=store.is_own)
        self._base = _Base(config, cluster_id, store.is_own, logs, listeners, told, tls)
        began(self._parts_lifetime.end, self._parts_lifetime.abandon)
        await self._start_parts(session)
        if self._authorizer.allows_everything:
            warn_of_open_doors(config)
        administration = environment.administration(config.log_dirs[0], {"compact": self.compacting})
        await administration.open()
        began(administration.close, administration.abandon)
        imports = LateImports(environment.clock, SERVED)
        began(imports.stop, imports.stop)
        imports.start()
        self._is_serving = True

    async def _start_parts(self, session: MetadataStore) -> None:
        """Build the parts over the store, the logs and the listeners, and start them; the last one is the
        server.
        """
        base, lifetime = self._base, self._parts_lifetime
        feed = ConfigFeed(base.config)
        storage = StorageParts(feed, self._environment, base.cluster_id, base.logs)
        parts = self.parts = Parts(
            storage,
            session,
            self._authorizer,
            self.interception,
            lifetime,
            keeps_metadata=base.keeps_metadata,
        )
        self.server = server_of(parts, base.listeners)
        base.tls.follow(feed)
        await parts.load_acls()
        await parts.cluster.join(base.told)
        parts.coordinators.start()
        lifetime.began(storage.cleaner.stop, storage.cleaner.stop)
        storage.cleaner.start()
        housekeeping = Housekeeping(self._environment.clock, [*chores_of(parts), *base.tls.chores(feed)])
        lifetime.began(housekeeping.stop, housekeeping.stop)
        housekeeping.start()
        self.server.start()
        lifetime.began(self.server.stop, self.server.abandon)

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
