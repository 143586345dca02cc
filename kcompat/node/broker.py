"""The life of one broker: its parts are started in order, and stopped in the opposite order.

A start checks that the ports are free, opens the metadata store, locks the data directories and loads the
logs, binds the listeners, takes part in the controller election and takes the leaderships (which loads the
groups). Only then does the broker accept clients.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

from kcompat.api.registry import SERVED
from kcompat.log.cleaner.cleaner import Compacted
from kcompat.log.cleaner.watch import compact_now
from kcompat.log.identity import stored_identity
from kcompat.logger_names import SERVER
from kcompat.node.foundation import check, lay_foundation
from kcompat.node.hooks import Hooks
from kcompat.node.late_imports import LateImports, without_refused
from kcompat.node.lifetime import Lifetime
from kcompat.node.listeners import address_of, warn_of_open_doors
from kcompat.node.serving import start_parts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.first_topics import FirstTopic
    from kcompat.log.cleaner.watch import Progress
    from kcompat.node.environment import Environment
    from kcompat.node.listeners import ServedListener
    from kcompat.node.parts import Parts
    from kcompat.security.authorizer import Authorizer
    from kcompat.store.interface import MetadataStore

logger = logging.getLogger(SERVER)


class BrokerNode:
    """One broker, on the event loop that runs `start`; `environment` belongs to that loop."""

    served: list[ServedListener]

    def __init__(
        self, config: BrokerConfig, environment: Environment, authorizer: Authorizer | None = None
    ) -> None:
        """Prepare a broker. `authorizer`, if given, replaces the configured one. Raises ConfigError,
        LogDirectoryError.
        """
        self._logins = check(config, environment.files)
        self._environment = environment
        self._authorizer = authorizer
        self._identity = stored_identity(config.log_dirs, environment.files)
        self._config = config
        self._lifetime = Lifetime()
        self._parts_lifetime = Lifetime()  # of what a restart in place replaces
        self.hooks = Hooks(self._lifetime.began, {"compact": self.compacting})

    async def start(self, topics: Sequence[FirstTopic] = ()) -> None:
        """Start all parts in order, and create `topics`; if one fails, the parts before it are stopped again.

        Raises ConfigError, LogDirectoryError, StorageError, StoreUnavailableError, ListenerError.
        """
        try:
            await self._start(topics)
        except BaseException:
            await self.stop()
            raise

    async def stop(self, *, hand_over: bool = True) -> None:
        """Move leaderships to other brokers, answer pending requests, then stop the parts, last started
        first. The data directories are left clean. Without `hand_over` the leaderships are not moved first.
        """
        try:
            if hand_over and self.hooks.is_serving:
                await self.parts.cluster.hand_leaderships_over()
        finally:
            if self.hooks.is_serving:
                logger.info("Broker %d is stopping", self.hooks.broker_id)
            self.hooks.is_serving = False
            await self._lifetime.end()

    def kill(self) -> None:
        """End as by kill -9: no peer is notified, and nothing more is written. The directories can be used
        again, and are as after a crash of the process.
        """
        self._lifetime.abandon()

    async def restart(self, prepare: Callable[[], Awaitable[MetadataStore]]) -> None:
        """End as by kill -9 and start again, except that the store, the logs and the listeners stay open:
        clients find the same port, and logs need not be loaded again.

        `prepare` is called in between. It may change the store and the logs, and returns the session for the
        new parts. After a failure the broker is stopped. Raises what `prepare` and `start` raise.
        """
        self.hooks.is_serving = False
        try:
            self._parts_lifetime.abandon()
            if self._foundation.tls.servers:
                self._foundation.tls.renew(self._foundation.config)
            session = await prepare()
            self.hooks.forget_parts()
            await self._start_parts(session)
            self.hooks.is_serving = True
        except BaseException:
            await self.stop()
            raise

    async def _start(self, topics: Sequence[FirstTopic]) -> None:
        environment, began = self._environment, self._lifetime.began
        self._foundation, session = await lay_foundation(
            self._config, self._logins, self._identity, environment, self._lifetime
        )
        self.served = self._foundation.served
        began(self._parts_lifetime.end, self._parts_lifetime.abandon)
        await self._start_parts(session, topics)
        services = self.parts.services
        warn_of_open_doors(self._foundation.config, services.server.authorizer)
        administration = environment.administration(self._foundation.config.log_dirs[0], self.hooks.commands)
        await administration.open()
        began(administration.close, administration.abandon)
        self._lifetime.start(LateImports(environment.clock, without_refused(SERVED, services)))
        logger.info("Broker %d has started: %s", self.hooks.broker_id, "; ".join(map(str, self.served)))
        self.hooks.is_serving = True

    async def _start_parts(self, session: MetadataStore, topics: Sequence[FirstTopic] = ()) -> None:
        lifetime, hooks = self._parts_lifetime, self.hooks
        environment, authorizer = self._environment, self._authorizer
        await start_parts(self._foundation, session, authorizer, hooks, environment, lifetime, topics)

    @property
    def parts(self) -> Parts:
        """The parts of the broker as it is now."""
        return cast("Parts", self.hooks.parts)

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of the first listener, as in `bootstrap.servers`."""
        return address_of(self.hooks.server.listeners[0])

    async def compact(self, topic: str) -> list[Compacted]:
        """Compact the local partitions of a topic now; return the result of each."""
        return [result async for result in self.compacting(topic) if isinstance(result, Compacted)]

    def compacting(self, topic: str) -> AsyncGenerator[Compacted | Progress, None]:
        """Compact as `compact` does, and yield progress reports in between."""
        storage = self.parts.storage
        return compact_now(storage.cleaner, [log for log in storage.logs if log.topic == topic])
