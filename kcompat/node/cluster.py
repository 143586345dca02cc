"""Several brokers on one event loop, over one metadata store: a cluster in a process.

The brokers are complete: they connect to each other over sockets, and each has its own directory, session and
clients. They share the loop, the store and the network between them, which tests can cut.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs

from kcompat.node.broker import BrokerNode
from kcompat.node.first_topics import make_first_topics
from kcompat.node.lifetime import Lifetime
from kcompat.node.links import Links
from kcompat.protocol.constants import NO_LEADER
from kcompat.store.interface import StoreUnavailableError
from kcompat.store.process_session import ProcessSession

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from kcompat.clock import Clock, Timer
    from kcompat.cluster.image import ClusterImage
    from kcompat.config.broker import BrokerConfig
    from kcompat.config.first_topics import FirstTopic
    from kcompat.net.listener import BoundListener
    from kcompat.node.environment import Environment
    from kcompat.node.hooks import Hooks
    from kcompat.node.listeners import ServedListener
    from kcompat.store.interface import MetadataStore, Sessions


class ClusterNodes:
    """The brokers of `configs`, each with a broker id, each running or not."""

    def __init__(self, configs: Sequence[BrokerConfig], store: Sessions, environment: Environment) -> None:
        """Prepare the brokers. `environment` serves every broker, except for the store and the network.
        `close` closes the store.
        """
        self._configs = {config.broker_id: config for config in configs}
        self._store = store
        self._environment = environment
        self._links = Links(environment.connect, environment.clock)
        self._sessions: dict[int, BorrowedStore] = {}
        self._changed = asyncio.Event()
        self.running: dict[int, BrokerNode] = {}
        self.arrivals: list[Callable[[Hooks], object]] = []
        """Functions that are called with the hooks of each broker that starts, before it serves clients."""

    @property
    def broker_ids(self) -> list[int]:
        """Ids of all brokers, running or not."""
        return list(self._configs)

    @property
    def bootstrap_servers(self) -> str:
        """Addresses of the running brokers in the order of their ids, as in `bootstrap.servers`."""
        return ",".join(self.running[broker_id].bootstrap_servers for broker_id in sorted(self.running))

    @property
    def served(self) -> list[ServedListener]:
        """Listeners of the running brokers, in the order of their ids."""
        return [each for broker_id in sorted(self.running) for each in self.running[broker_id].served]

    async def start(self, *broker_ids: int) -> None:
        """Start these brokers concurrently, or all of them by default. Returns when the running brokers that
        are not isolated have each other in their images. Raises the errors of `BrokerNode.start`, and
        StoreUnavailableError for an isolated broker.
        """
        chosen = [each for each in broker_ids or self.broker_ids if each not in self.running]
        for broker_id in chosen:
            if broker_id in self._links.isolated:  # its start would wait for the store
                raise StoreUnavailableError(
                    f"broker {broker_id} is isolated: heal the cluster before it starts again"
                )
        results = await asyncio.gather(*map(self._start, chosen), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        await self.until(lambda: self._know_each_other(self.running.keys() - self._links.isolated))

    async def make_topics(self, topics: Sequence[FirstTopic]) -> None:
        """Create those of `topics` that do not exist, and return when all running brokers know all of them.
        Raises ConfigError.
        """
        names = {topic.name for topic in topics}
        await make_first_topics(next(iter(self.running.values())).parts, topics)
        await self.until(lambda: all(names <= image.topics.keys() for image in self._images()))

    async def _start(self, broker_id: int) -> None:
        former = self._sessions.get(broker_id)
        if former is not None:
            await former.close()  # the session of the killed broker, which no other broker uses
        session = self._sessions[broker_id] = BorrowedStore(self._store, self._environment.clock)
        node = BrokerNode(self._configs[broker_id], self._environment_of(broker_id, session))
        await node.start()
        node.parts.storage.metadata.subscribe(lambda *_: self._changed.set())
        self.running[broker_id] = node
        self._changed.set()

    async def stop(self, broker_id: int) -> None:
        """Shut a broker down cleanly: its leaderships move to other brokers first."""
        node = self.running.pop(broker_id, None)
        if node is not None:
            await node.stop()

    def kill(self, broker_id: int) -> None:
        """End a broker as kill -9 does: its session lives on until its timeout."""
        node = self.running.pop(broker_id)
        node.kill()
        self._sessions[broker_id].abandon(self._session_timeout_ms(broker_id))

    def isolate(self, broker_id: int) -> None:
        """Cut a broker off from the other brokers and from the store; clients still reach it. If it is not
        running, it cannot start.
        """
        timeout_ms = self._session_timeout_ms(broker_id)
        self._links.isolate(broker_id)
        if (session := self._sessions.get(broker_id)) is not None:
            session.cut(timeout_ms)
        self._changed.set()  # waits no longer depend on the image of this broker

    def heal(self) -> None:
        """Reconnect all isolated brokers."""
        self._links.heal()
        for session in self._sessions.values():
            session.mend()
        self._changed.set()

    def leader_of(self, topic: str, partition: int) -> int:
        """Return the leader of a partition, as the controller has it; -1 for none or an unknown partition."""
        shown = self._images()
        known = None if not shown else shown[0].partition(topic, partition)
        return NO_LEADER if known is None else known.leader

    def isr_of(self, topic: str, partition: int) -> tuple[int, ...]:
        """Return the ISR of a partition, as the controller has it; empty for an unknown partition."""
        shown = self._images()
        known = None if not shown else shown[0].partition(topic, partition)
        return () if known is None else known.isr

    def out_of_sync(self) -> list[str]:
        """Return the partitions that, by some broker's image, lack a leader or have a replica on a running
        broker outside the ISR.
        """
        found: dict[str, None] = {}
        for image in self._images():
            for topic in image.topics.values():
                for index, info in topic.partitions.items():
                    in_sync = set(info.replicas) & self.running.keys() <= set(info.isr)
                    if info.leader not in self.running or not in_sync:
                        found[f"{topic.name}-{index}"] = None
        return list(found)

    async def until_in_sync(self) -> None:
        """Wait until the running brokers have each other in their images and `out_of_sync` is empty."""
        await self.until(lambda: self._know_each_other(self.running.keys()) and not self.out_of_sync())

    def _know_each_other(self, broker_ids: AbstractSet[int]) -> bool:
        """Return whether the image of each of these brokers has all of them, and one of them as the
        controller.
        """
        images = [self.running[broker_id].parts.storage.metadata.image for broker_id in broker_ids]
        return all(
            broker_ids <= image.brokers.keys() and image.controller_id in broker_ids for image in images
        )

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on the images of the running brokers holds."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    def _images(self) -> list[ClusterImage]:
        return [node.parts.storage.metadata.image for node in self.by_trust()]

    def by_trust(self) -> list[BrokerNode]:
        """Return the running brokers: the controller first, and last those that are isolated, whose images
        are out of date.
        """

        def distrust(broker_id: int) -> tuple[bool, bool]:
            is_controller = self.running[broker_id].parts.cluster.controller_election.is_here
            is_isolated = broker_id in self._links.isolated
            return is_isolated, not is_controller

        return [self.running[each] for each in sorted(self.running, key=distrust)]

    async def close(self) -> None:
        """Stop all brokers and the store."""
        parts = Lifetime()
        parts.began(self._store.close)
        while self.running:
            _, node = self.running.popitem()
            parts.began(partial(node.stop, hand_over=False))
        await parts.end()

    def _session_timeout_ms(self, broker_id: int) -> int:
        return self._configs[broker_id].integer("zookeeper.session.timeout.ms")

    def _environment_of(self, broker_id: int, session: BorrowedStore) -> Environment:
        def bind(name: str, host: str, port: int, **options: Any) -> BoundListener:
            listener = self._environment.bind(name, host, port, **options)
            self._links.listens(broker_id, listener.port)
            return listener

        def instrument(hooks: Hooks) -> None:
            self._environment.instrument(hooks)
            for arrive in list(self.arrivals):
                arrive(hooks)

        return structs.replace(
            self._environment,
            instrument=instrument,
            open_store=lambda _config, _clock: session,
            bind=bind,
            connect=self._links.of(broker_id),
        )


class BorrowedStore:
    """The store as one broker uses it: the session can be cut off, and `close` ends the session but not the
    store.
    """

    is_own = False

    def __init__(self, store: Sessions, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._opened: MetadataStore | None = None
        self._session: ProcessSession | None = None  # the opened session, if it can be cut off
        self._expiry: Timer | None = None
        self._lapse: asyncio.Future[None] | None = None
        self._is_abandoned = False

    async def session(self) -> MetadataStore:
        self._opened = await self._store.session()
        if isinstance(self._opened, ProcessSession):
            self._session = self._opened
        return self._opened

    async def close(self) -> None:
        """End the session; the store stays open."""
        self._forget_expiry()
        self._session = None  # there is nothing left that could be cut off
        if self._opened is not None:
            await self._opened.close()

    def cut(self, timeout_ms: int) -> None:
        """Suspend the session. The store expires it after `timeout_ms`; the broker sees it in `mend`."""
        if self._session is not None and self._expiry is None:
            self._session.suspend()
            self._expiry = self._clock.call_later(timeout_ms, self._lapse_now)

    def abandon(self, timeout_ms: int) -> None:
        """Suspend the session of a killed broker for good; the session expires after `timeout_ms`."""
        self.cut(timeout_ms)
        self._is_abandoned = True

    def mend(self) -> None:
        """Resume the session; the broker learns now whether the session has expired meanwhile."""
        if self._session is not None and not self._is_abandoned:
            self._forget_expiry()
            self._session.resume()

    def _lapse_now(self) -> None:
        assert self._session is not None
        self._lapse = asyncio.ensure_future(self._session.lapse())

    def _forget_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
