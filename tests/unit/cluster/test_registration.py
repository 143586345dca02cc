"""A broker is registered as long as it runs, and as nobody else."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.registration import (
    AddressInUseError,
    BrokerIdInUseError,
    Forgetful,
    NoCommonListenerError,
    Registration,
    generate_broker_id,
)
from kcompat.cluster.znodes import BrokerRegistration
from kcompat.protocol.constants import NO_EPOCH
from kcompat.store.interface import EventType, StoreUnavailableError, WatchEvent
from kcompat.store.process_store import ProcessStore
from support.session_conformance import Heard
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from kcompat.store.interface import Op, OpResult, SetAcl
    from kcompat.store.process_session import ProcessSession

BROKER = BrokerRegistration({"PLAINTEXT": ("h", 9092)}, {"PLAINTEXT": "PLAINTEXT"}, "r1")
PATH = "/brokers/ids/1"


class Memory:
    """The sessions that a broker remembers, and all that it ever stored."""

    def __init__(self, *session_ids: int) -> None:
        self.written: list[set[int]] = [set(session_ids)]

    def read(self) -> list[int]:
        return list(self.written[-1])

    def write(self, session_ids: Iterable[int]) -> None:
        self.written.append(set(session_ids))


@pytest.fixture
async def store() -> AsyncIterator[ProcessStore]:
    store = ProcessStore.in_memory(lambda: 5)
    session = await store.session()
    for path in ("/brokers", "/brokers/ids"):
        await session.create(path)
    yield store
    await store.close()


def registration(session: ProcessSession, memory: Memory | None = None) -> Registration:
    return Registration(session, 1, memory or Forgetful(), VirtualClock())


async def test_the_epoch_is_the_transaction_that_made_the_node(store: ProcessStore) -> None:
    session = await store.session()
    mine = registration(session)
    assert mine.epoch == NO_EPOCH
    await mine.start(BROKER)
    data, stat = await session.get(PATH)
    assert (mine.epoch, stat.ephemeral_owner, stat.version) == (stat.czxid, session.session_id, 1)
    assert json.loads(data)["endpoints"] == ["PLAINTEXT://h:9092"]
    await mine.stop()


async def test_another_live_broker_has_the_id(store: ProcessStore) -> None:
    await registration(await store.session()).start(BROKER)
    with pytest.raises(BrokerIdInUseError, match="broker id 1 is in use"):
        await registration(await store.session(), Memory(12345)).start(BROKER)


def listening(**endpoints: tuple[str, int]) -> BrokerRegistration:
    return BrokerRegistration(endpoints, dict.fromkeys(endpoints, "PLAINTEXT"))


async def test_another_live_broker_advertises_an_address_of_this_one(store: ProcessStore) -> None:
    """Whatever its listener is called, and where a port or a host is shared nothing is."""
    other = Registration(await store.session(), 7, Forgetful(), VirtualClock())
    await other.start(listening(INSIDE=("h", 9092), OUTSIDE=("public", 9094)))
    session = await store.session()
    with pytest.raises(AddressInUseError, match="broker 7 of this cluster advertises public:9094 already"):
        await registration(session).start(listening(PLAINTEXT=("h", 9093), WORLD=("public", 9094)))
    assert await session.exists(PATH) is None
    mine = listening(INSIDE=("h", 9094), OUTSIDE=("public", 9092))
    await registration(session).start(mine, among_brokers="INSIDE")
    assert await session.exists(PATH) is not None


@pytest.mark.parametrize(
    "theirs",
    [
        BrokerRegistration({"INSIDE": ("o", 9092)}, {"INSIDE": "SASL_SSL"}),
        BrokerRegistration({"OUTSIDE": ("o", 9092)}, {"OUTSIDE": "PLAINTEXT"}),
    ],
)
async def test_brokers_need_a_listener_of_one_name_and_one_protocol(
    store: ProcessStore, theirs: BrokerRegistration
) -> None:
    await Registration(await store.session(), 7, Forgetful(), VirtualClock()).start(theirs)
    session = await store.session()
    with pytest.raises(
        NoCommonListenerError,
        match=r"^broker 7 of this cluster has no listener INSIDE that is PLAINTEXT, .+"
        r"give each broker one and name it in inter\.broker\.listener\.name",
    ):
        await registration(session).start(listening(INSIDE=("h", 9092)), among_brokers="INSIDE")
    assert await session.exists(PATH) is None


async def test_the_common_listener_may_be_of_any_protocol(store: ProcessStore) -> None:
    theirs = BrokerRegistration({"INSIDE": ("o", 9092)}, {"INSIDE": "SASL_SSL"})
    await Registration(await store.session(), 7, Forgetful(), VirtualClock()).start(theirs)
    ours = BrokerRegistration({"INSIDE": ("h", 9092)}, {"INSIDE": "SASL_SSL"})
    mine = registration(await store.session())
    await mine.start(ours, among_brokers="INSIDE")
    assert mine.epoch != NO_EPOCH


async def test_the_address_of_a_broker_that_is_gone_is_free(store: ProcessStore) -> None:
    gone = await store.session()
    await Registration(gone, 7, Forgetful(), VirtualClock()).start(BROKER)
    await gone.close()
    mine = registration(await store.session())
    await mine.start(BROKER)
    assert mine.epoch != NO_EPOCH


async def test_a_broker_registers_anew_when_its_session_has_ended(store: ProcessStore) -> None:
    session, other = await store.session(), await store.session()
    mine = registration(session)
    await mine.start(BROKER)
    first = mine.epoch
    epochs: Heard[int] = Heard()
    mine.subscribe(epochs)
    await session.expire()
    assert epochs.everything[0] == NO_EPOCH
    registered: Heard[WatchEvent] = Heard()
    other.watch(PATH, registered)
    await registered.until(WatchEvent(EventType.CREATED, PATH), WatchEvent(EventType.CHANGED, PATH))
    stat = await other.exists(PATH)
    assert stat is not None
    await epochs.until(NO_EPOCH, stat.czxid)
    assert mine.epoch > first
    assert (stat.czxid, stat.ephemeral_owner) == (mine.epoch, session.session_id)
    await mine.stop()


async def test_the_node_that_a_killed_process_left_is_its_successors_to_remove(store: ProcessStore) -> None:
    killed, session = await store.session(), await store.session()
    memory = Memory()
    former = registration(killed, memory)
    await former.start(BROKER)
    assert memory.written == [set(), {killed.session_id}, {killed.session_id}]
    mine = registration(session, memory)
    await mine.start(BROKER)
    stat = await session.exists(PATH)
    assert stat is not None
    assert mine.epoch == stat.czxid > former.epoch
    assert stat.ephemeral_owner == session.session_id
    assert memory.written[3:] == [{killed.session_id, session.session_id}, {session.session_id}]


async def test_a_newer_registration_of_another_is_left_alone(store: ProcessStore) -> None:
    """The session that is remembered has ended, and somebody else has taken the id since."""
    killed = await store.session()
    memory = Memory(killed.session_id)
    await killed.close()
    other = await store.session()
    await registration(other).start(BROKER)
    with pytest.raises(BrokerIdInUseError):
        await registration(await store.session(), memory).start(BROKER)
    stat = await other.exists(PATH)
    assert stat is not None
    assert stat.ephemeral_owner == other.session_id


class FullStore(ProcessStore):
    """Takes no transactions while it is full."""

    is_full = False

    async def commit(self, session_id: int, ops: Sequence[Op | SetAcl]) -> list[OpResult]:
        if self.is_full and type(ops[-1]).__name__ == "SetData":
            raise StoreUnavailableError("the disk is full")
        return await super().commit(session_id, ops)


async def test_it_is_tried_again_until_the_store_takes_it() -> None:
    store = FullStore.in_memory(lambda: 5)
    assert isinstance(store, FullStore)
    session, other = await store.session(), await store.session()
    for path in ("/brokers", "/brokers/ids"):
        await session.create(path)
    clock = VirtualClock()
    mine = Registration(session, 1, Forgetful(), clock)
    await mine.start(BROKER)
    store.is_full = True
    await session.expire()
    for _ in range(20):
        await asyncio.sleep(0)
        clock.advance(1000)
    assert mine.epoch == NO_EPOCH
    assert await other.exists(PATH) is None
    store.is_full = False
    async with asyncio.timeout(10):
        while mine.epoch == NO_EPOCH:
            await asyncio.sleep(0)
            clock.advance(1000)
    await mine.stop()
    await store.close()


async def test_generated_ids_are_above_the_reserved_ones_and_never_the_same(store: ProcessStore) -> None:
    one, two = await store.session(), await store.session()
    ids = [await generate_broker_id(session, 1000) for session in (one, two, one)]
    assert ids == [1001, 1002, 1003]
    assert (await one.get("/brokers/seqid"))[0] == b""
