"""The store on a ZooKeeper does what every metadata store does, over links that break. Here the server at the
other end is our own; `interop-tests/zookeeper_store` plays the same to a real one.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.registration import AddressInUseError, BrokerIdInUseError, Forgetful, Registration
from kcompat.cluster.znodes import BrokerRegistration
from kcompat.controller import loading
from kcompat.log.files import FILES
from kcompat.log.remembered_sessions import RememberedSessions
from kcompat.net.loop_clock import LoopClock
from kcompat.store.interface import AccessDeniedError, Create, UnknownOutcomeError
from kcompat.store.process_store import ProcessStore
from kcompat.store.zookeeper.settings import Credential
from kcompat.zookeeper_server.server import ZooKeeperServer
from kcompat.zookeeper_server.service import ServerConfig
from support.session_conformance import SessionConformance
from support.store_conformance import StoreConformance
from support.zookeeper_under_test import ZooKeeperUnderTest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from kcompat.store.interface import MetadataStore


@pytest.fixture
async def store() -> AsyncIterator[ZooKeeperUnderTest]:
    clock = LoopClock(asyncio.get_running_loop())
    tree = ProcessStore.in_memory(clock.now_ms)
    server = ZooKeeperServer(tree, clock, Random(1), ServerConfig(client_port=0))
    await server.open("127.0.0.1")
    under_test = ZooKeeperUnderTest(("127.0.0.1", server.port))
    yield under_test
    await under_test.close()
    await server.close()
    await tree.close()


class TestConformance(StoreConformance, SessionConformance):
    """With the fixture above."""


async def test_a_lost_answer_to_a_creation_is_decided_by_what_is_there(store: ZooKeeperUnderTest) -> None:
    session = await store.session()
    link = store.link(session)
    link.lose_the_answer_to(lambda data: b"/lost" in data)
    making = asyncio.ensure_future(session.create("/lost", b"x"))
    await link.has_cut.wait()
    link.mend()
    assert await making == "/lost"


async def test_what_another_has_gone_over_since_is_unknown(store: ZooKeeperUnderTest) -> None:
    session, other = await store.session(), await store.session()
    await session.create("/lost", b"0")
    link = store.link(session)
    link.lose_the_answer_to(lambda data: b"/lost" in data)
    setting = asyncio.ensure_future(session.set("/lost", b"1", 0))
    await link.has_cut.wait()
    await other.set("/lost", b"2")
    link.mend()
    with pytest.raises(UnknownOutcomeError):
        await setting


async def test_a_broker_that_was_killed_registers_again_at_once(
    store: ZooKeeperUnderTest, tmp_path: Path
) -> None:
    """Its former session goes on for half a minute."""
    killed, session = await store.session(), await store.session()
    await session.multi([Create("/brokers"), Create("/brokers/ids")])
    clock = LoopClock(asyncio.get_running_loop())

    async def start(session: MetadataStore) -> int:
        registration = Registration(session, 1, RememberedSessions(str(tmp_path), FILES), clock)
        await registration.start(BrokerRegistration({"PLAINTEXT": ("h", 9092)}, {"PLAINTEXT": "PLAINTEXT"}))
        await registration.stop()
        return registration.epoch

    first = await start(killed)
    await store.cut(killed)
    second = await start(session)
    stat = await session.exists("/brokers/ids/1")
    assert stat is not None
    assert (stat.czxid, stat.ephemeral_owner) == (second, session.session_id)
    assert second > first
    other = await store.session()
    with pytest.raises(BrokerIdInUseError):
        await Registration(other, 1, Forgetful(), clock).start(
            BrokerRegistration({"PLAINTEXT": ("other", 9092)}, {"PLAINTEXT": "PLAINTEXT"})
        )
    with pytest.raises(AddressInUseError):
        await Registration(other, 2, Forgetful(), clock).start(
            BrokerRegistration({"OTHER": ("h", 9092)}, {"OTHER": "PLAINTEXT"})
        )


async def test_a_broker_that_may_not_write_says_what_to_do(store: ZooKeeperUnderTest) -> None:
    """The nodes of a Kafka with `zookeeper.set.acl` are somebody's, and others may read the most of them."""
    owner = await store.session(set_acl=True, credentials=(Credential("digest", "kafka:secret"),))
    await loading.prepare(owner)
    await loading.cluster_id(owner, "an id", claims=True)
    stranger = await store.session()
    with pytest.raises(AccessDeniedError, match=r"^ZooKeeper does not let this broker use /config/"):
        await loading.prepare(stranger)
    with pytest.raises(AccessDeniedError, match=r"^ZooKeeper does not let this broker use /cluster/id, "):
        await loading.cluster_id(stranger, "another", claims=True)
