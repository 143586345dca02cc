"""Several brokers on one event loop, over one metadata store: a cluster in a process.

They are brokers like any others: they talk to each other over sockets, and each has its own directory,
session and clients. What they share is the loop, the store and, so that it can be broken, the network between
them.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs

from kcompat.node.broker import BrokerNode
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
    from kcompat.net.listener import Listener
    from kcompat.node.environment import Environment
    from kcompat.node.listeners import ServedListener
    from kcompat.store.interface import MetadataStore, Sessions


class ClusterNodes:
    """The brokers of `configs`, which have their ids, each running or not."""

    def __init__(self, configs: Sequence[BrokerConfig], store: Sessions, environment: Environment) -> None:
        """`environment` serves every broker, except for the store and the network. The store is closed at the
        end.
        """
        self._configs = {config.broker_id: config for config in configs}
        self._store = store
        self._environment = environment
        self._links = Links(environment.connect, environment.clock)
        self._sessions: dict[int, BorrowedStore] = {}
        self._changed = asyncio.Event()
        self.running: dict[int, BrokerNode] = {}

    @property
    def broker_ids(self) -> list[int]:
        """All of them, running or not."""
        return list(self._configs)

    @property
    def bootstrap_servers(self) -> str:
        """Addresses of the running brokers in the order of their ids, as clients take them."""
        return ",".join(self.running[broker_id].bootstrap_servers for broker_id in sorted(self.running))

    @property
    def served(self) -> list[ServedListener]:
        """The listeners of the brokers that run, by id."""
        return [each for broker_id in sorted(self.running) for each in self.running[broker_id].served]

    async def start(self, *broker_ids: int) -> None:
        """Start brokers side by side; without an id all of them. Done when those that are not isolated know
        each other. Raises what `BrokerNode.start` raises, StoreUnavailableError for one that is isolated.
        """
        chosen = [each for each in broker_ids or self.broker_ids if each not in self.running]
        for broker_id in chosen:
            if broker_id in self._links.isolated:  # it would wait for the store
                raise StoreUnavailableError(
                    f"broker {broker_id} is isolated: heal the cluster before it starts again"
                )
        results = await asyncio.gather(*map(self._start, chosen), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        await self._until(lambda: self._know_each_other(self.running.keys() - self._links.isolated))

    async def _start(self, broker_id: int) -> None:
        former = self._sessions.get(broker_id)
        if former is not None:
            await former.close()  # of a broker that was killed: nobody else had its session
        session = self._sessions[broker_id] = BorrowedStore(self._store, self._environment.clock)
        node = BrokerNode(self._configs[broker_id], self._environment_of(broker_id, session))
        await node.start()
        node.parts.storage.metadata.subscribe(lambda *_: self._changed.set())
        self.running[broker_id] = node
        self._changed.set()

    async def stop(self, broker_id: int) -> None:
        """Stop a broker in peace: others lead what it leads first."""
        node = self.running.pop(broker_id, None)
        if node is not None:
            await node.stop()

    def kill(self, broker_id: int) -> None:
        """End a broker as kill -9 does: its session lives on until its timeout."""
        node = self.running.pop(broker_id)
        node.kill()
        self._sessions[broker_id].abandon(self._session_timeout_ms(broker_id))

    def isolate(self, broker_id: int) -> None:
        """Cut a broker off from the others and from the store; clients still reach it. One that does not run
        cannot start.
        """
        timeout_ms = self._session_timeout_ms(broker_id)
        self._links.isolate(broker_id)
        if (session := self._sessions.get(broker_id)) is not None:
            session.cut(timeout_ms)
        self._changed.set()  # nobody waits any more for what it knows

    def heal(self) -> None:
        """Undo all that `isolate` did."""
        self._links.heal()
        for session in self._sessions.values():
            session.mend()
        self._changed.set()

    def leader_of(self, topic: str, partition: int) -> int:
        """Return the leader of a partition, as the controller has it; -1 for none or an unknown partition."""
        shown = self._images()
        known = None if not shown else shown[0].partition(topic, partition)
        return NO_LEADER if known is None else known.leader

    def out_of_sync(self) -> list[str]:
        """The partitions that some broker sees without a leader, or without a replica of a broker that runs
        in its ISR.
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
        """Wait until brokers know each other and nothing is `out_of_sync`."""
        await self._until(lambda: self._know_each_other(self.running.keys()) and not self.out_of_sync())

    def _know_each_other(self, broker_ids: AbstractSet[int]) -> bool:
        """Whether each of these brokers sees all of them, and one of them as the controller."""
        images = [self.running[broker_id].parts.storage.metadata.image for broker_id in broker_ids]
        return all(
            broker_ids <= image.brokers.keys() and image.controller_id in broker_ids for image in images
        )

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    def _images(self) -> list[ClusterImage]:
        """Return the metadata images of the running brokers: the controller's first, and last those of
        isolated brokers, which do not hear of changes.
        """

        def distrust(broker_id: int) -> tuple[bool, bool]:
            is_controller = self.running[broker_id].parts.cluster.controller_election.is_here
            return not is_controller, broker_id in self._links.isolated

        return [
            self.running[each].parts.storage.metadata.image for each in sorted(self.running, key=distrust)
        ]

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
        def bind(name: str, host: str, port: int, **options: Any) -> Listener:
            listener = self._environment.bind(name, host, port, **options)
            self._links.listens(broker_id, listener.port)
            return listener

        return structs.replace(
            self._environment,
            open_store=lambda _config, _clock: session,
            bind=bind,
            connect=self._links.of(broker_id),
        )


class BorrowedStore:
    """A store as one broker has it: a session that can be cut off, and an end that is not the store's."""

    is_own = False

    def __init__(self, store: Sessions, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._opened: MetadataStore | None = None
        self._session: ProcessSession | None = None  # the same, if it can be cut off
        self._expiry: Timer | None = None
        self._lapse: asyncio.Future[None] | None = None
        self._is_abandoned = False

    async def session(self) -> MetadataStore:
        self._opened = await self._store.session()
        if isinstance(self._opened, ProcessSession):
            self._session = self._opened
        return self._opened

    async def close(self) -> None:
        """End the session; the store stays."""
        self._forget_expiry()
        self._session = None  # there is nothing left that could be cut off
        if self._opened is not None:
            await self._opened.close()

    def cut(self, timeout_ms: int) -> None:
        """Let nothing through. After `timeout_ms` the store takes the broker for dead, which does not hear
        of that.
        """
        if self._session is not None and self._expiry is None:
            self._session.suspend()
            self._expiry = self._clock.call_later(timeout_ms, self._lapse_now)

    def abandon(self, timeout_ms: int) -> None:
        """Let nothing through ever again: the broker was killed, and the session ends by its timeout."""
        self.cut(timeout_ms)
        self._is_abandoned = True

    def mend(self) -> None:
        """Let everything through again; the broker hears now whether its session has ended meanwhile."""
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
