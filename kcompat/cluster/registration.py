"""Registration of this broker among the live brokers: the node `/brokers/ids/<id>`.

The node is ephemeral, and the id of the transaction that created it is the broker epoch. When the session
ends, the broker opens another session and registers again, in a new epoch. Kafka's counterparts:
`KafkaZkClient.registerBroker` and the former `KafkaHealthcheck`.

If a node of this id exists already, the broker removes it only if one of its own former sessions created it:
the store may detect the end of a session late (KAFKA-7165), and a killed process leaves its node until its
session ends. The broker stores the ids of its sessions beside its logs, whose directories it has locked, and
recognizes its own nodes by these ids. Any other node belongs to another broker with the same id.

At its start, the broker refuses to register an address that another broker advertises, because clients would
reach one broker for the other (Kafka's counterpart: `KafkaServer.createBrokerInfo`). It also refuses if
another broker has no listener of the name and the security protocol used among brokers, since they could not
reach each other. A Kafka broker would start in that case.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from kcompat.cluster import znodes
from kcompat.protocol.constants import NO_EPOCH
from kcompat.store.interface import (
    BadVersionError,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    SessionState,
    SetData,
    Stat,
    StoreError,
    UnknownOutcomeError,
)
from kcompat.store.subscribers import Subscribers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.clock import Clock
    from kcompat.store.interface import MetadataStore, Watch

AMONG_BROKERS = "PLAINTEXT"
"""Name and security protocol of the listener among brokers if none is configured."""
RETRY_MS = 1000
"""Pause in ms after a failed attempt to register again."""

_log = logging.getLogger(__name__)


class BrokerIdInUseError(StoreError):
    """Another live broker is registered with this broker id."""


class AddressInUseError(StoreError):
    """Another live broker advertises an address that this broker advertises."""


class NoCommonListenerError(StoreError):
    """Another live broker has no listener through which this broker could reach it."""


class SessionMemory(Protocol):
    """Port that stores the session ids of a broker, so that they outlive the process."""

    def read(self) -> list[int]:
        """Return the stored session ids."""

    def write(self, session_ids: Iterable[int]) -> None:
        """Replace the stored session ids."""


class Forgetful:
    """A `SessionMemory` that stores nothing, for a store whose sessions end with the process."""

    def read(self) -> list[int]:
        """Return no ids: no session outlives its process."""
        return []

    def write(self, session_ids: Iterable[int]) -> None:
        """Do nothing: all sessions end with the process."""


class Registration:
    """The registration of one broker in the metadata store, from `start` to `stop`."""

    def __init__(self, store: MetadataStore, broker_id: int, memory: SessionMemory, clock: Clock) -> None:
        self._store = store
        self._broker_id = broker_id
        self._memory = memory
        self._clock = clock
        self._mine = set(memory.read())
        self._broker: znodes.BrokerRegistration
        self._listeners: Subscribers[None, int] = Subscribers("a listener to the broker epoch")
        self._states: Watch | None = None
        self._renewing: asyncio.Task[None] | None = None
        self.epoch = NO_EPOCH
        """Broker epoch of the current registration; `NO_EPOCH` while the broker is not registered."""

    def subscribe(self, listener: Callable[[int], object]) -> Watch:
        """Call `listener` with each later broker epoch, and with `NO_EPOCH` when a session has ended."""
        return self._listeners.add(None, listener)

    async def start(self, broker: znodes.BrokerRegistration, among_brokers: str = AMONG_BROKERS) -> None:
        """Register the broker now, and again with every later session.

        `among_brokers` is the name of the listener through which this broker reaches the others. Raises
        `BrokerIdInUseError`, `AddressInUseError`, `NoCommonListenerError` and the store's errors.
        """
        self._broker = broker
        await self._look_at_others(among_brokers)
        await self._register()
        self._states = self._store.subscribe(self._session_changed)

    async def stop(self) -> None:
        """Stop registering. The node stays until the session ends."""
        self.abandon()
        if self._renewing is not None:
            with suppress(asyncio.CancelledError):
                await self._renewing

    def abandon(self) -> None:
        """Stop registering at once, without waiting."""
        if self._states is not None:
            self._states.cancel()
        if self._renewing is not None:
            self._renewing.cancel()

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            self._become(NO_EPOCH)
            if self._renewing is None or self._renewing.done():
                self._renewing = asyncio.create_task(self._register_anew(), name="registration")

    async def _register_anew(self) -> None:
        while True:
            try:
                await self._store.renew()
                await self._register()
            except (StoreError, OSError) as error:
                _log.error("this broker cannot register anew, and tries again: %s", error)
                await self._pause()
            else:
                _log.warning("the session had ended: registered anew, in broker epoch %d", self.epoch)
                return

    async def _register(self) -> None:
        session_id = self._store.session_id
        self._mine.add(session_id)
        self._memory.write(self._mine)  # before there is a node that this process may leave behind
        epoch = await self._make_node()
        self._mine = {session_id}
        self._memory.write(self._mine)
        self._become(epoch)

    async def _look_at_others(self, among_brokers: str) -> None:
        names = await self._store.children(znodes.BROKER_IDS)
        others = [int(name) for name in names if int(name) != self._broker_id]
        nodes = await self._store.get_many([znodes.broker_path(other) for other in others])
        for other, node in zip(others, nodes, strict=True):
            if node is not None:
                theirs = znodes.decode_broker(node[0])
                self._insist_on_own_addresses(other, theirs)
                protocol = self._broker.security_protocols.get(among_brokers, AMONG_BROKERS)
                _insist_on_common_listener(other, theirs, among_brokers, protocol)

    def _insist_on_own_addresses(self, other: int, theirs: znodes.BrokerRegistration) -> None:
        for host, port in set(self._broker.endpoints.values()).intersection(theirs.endpoints.values()):
            raise AddressInUseError(
                f"broker {other} of this cluster advertises {host}:{port} already: give each broker an "
                "address of its own in advertised.listeners, or, if that broker is gone, wait until its "
                "session has ended"
            )

    async def _make_node(self) -> int:
        """Create the node of this registration and return its czxid."""
        path = znodes.broker_path(self._broker_id)
        data = znodes.encode_broker(self._broker, self._clock.now_ms())
        while True:
            try:
                _, made = await self._store.multi([Create(path, ephemeral=True), SetData(path, data, 0)])
                assert isinstance(made, Stat)
            except (NodeExistsError, UnknownOutcomeError):
                there = await self._store.exists(path)
                if there is None:
                    continue
                if there.ephemeral_owner == self._store.session_id:
                    return there.czxid
                if there.ephemeral_owner not in self._mine:
                    raise BrokerIdInUseError(
                        f"broker id {self._broker_id} is in use by another live broker of this cluster"
                    ) from None
                _log.warning("the registration of a former session of this broker is removed")
                with suppress(NoNodeError, BadVersionError):
                    await self._store.multi([Delete(path, there.version)])
            else:
                return made.czxid

    def _become(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.epoch = epoch
            self._listeners.notify(None, epoch)

    async def _pause(self) -> None:
        over = asyncio.Event()
        timer = self._clock.call_later(RETRY_MS, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()


def _insist_on_common_listener(
    other: int, theirs: znodes.BrokerRegistration, name: str, protocol: str
) -> None:
    if theirs.security_protocols.get(name) != protocol:
        raise NoCommonListenerError(
            f"broker {other} of this cluster has no listener {name} that is {protocol}, by "
            "which this one could reach it: give each broker one and name it in inter.broker.listener.name, "
            f"or, if broker {other} is gone, wait until its session has ended"
        )


async def generate_broker_id(store: MetadataStore, most_reserved: int) -> int:
    """Return a broker id that was never generated before: `most_reserved` (`reserved.broker.max.id`) plus the
    version of `/brokers/seqid`, which each call raises by one.
    """
    while True:
        try:
            stat = await store.set(znodes.BROKER_SEQUENCE, b"")
        except NoNodeError:
            with suppress(NodeExistsError, UnknownOutcomeError):
                await store.create(znodes.BROKER_SEQUENCE)
        except UnknownOutcomeError:
            continue  # a lost number does no harm
        else:
            return most_reserved + stat.version
