"""A broker whose session had ended shows no topic that was deleted meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster import znodes
from kcompat.cluster.image import ClusterImage, TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.missed_deletions import MissedDeletions
from kcompat.cluster.registration import Forgetful, Registration
from kcompat.cluster.znodes import BrokerRegistration
from kcompat.store.process_store import ProcessStore
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kcompat.store.process_session import ProcessSession

BROKER = BrokerRegistration({"PLAINTEXT": ("h", 9092)}, {"PLAINTEXT": "PLAINTEXT"})
OLD, NEW = b"o" * 16, b"n" * 16


class Broker:
    """One that is registered, and shows the topics "kept", "deleted" and "other"."""

    def __init__(self, session: ProcessSession) -> None:
        self.session = session
        self.cluster = MetadataCache("c")
        self.cluster.update(
            ClusterImage("c").with_topics(
                [TopicImage(name, OLD, {}) for name in ("kept", "deleted", "other")]
            )
        )
        self.registration = Registration(session, 1, Forgetful(), VirtualClock())
        self.missed = MissedDeletions(session, self.cluster, self.registration)

    async def shows(self, *topics: str) -> None:
        """Wait until it shows these and no others."""
        changed = asyncio.Event()
        self.cluster.subscribe(lambda *_: changed.set())
        async with asyncio.timeout(10):
            while set(self.cluster.image.topics) != set(topics):
                changed.clear()
                await changed.wait()


@pytest.fixture
async def store() -> AsyncIterator[ProcessStore]:
    store = ProcessStore.in_memory(lambda: 5)
    session = await store.session()
    for path in (*znodes.PERSISTENT_PATHS, znodes.topic_path("kept"), znodes.topic_path("other")):
        await session.create(path)
    yield store
    await store.close()


@pytest.fixture
async def broker(store: ProcessStore) -> AsyncIterator[Broker]:
    broker = Broker(await store.session())
    await broker.registration.start(BROKER)
    yield broker
    await broker.missed.stop()
    await broker.registration.stop()


async def test_a_broker_that_registers_anew_forgets_what_was_deleted_meanwhile(broker: Broker) -> None:
    assert set(broker.cluster.image.topics) == {"kept", "deleted", "other"}
    await broker.session.expire()
    await broker.shows("kept", "other")


class HearsWhileItAsks:
    """Names as the store has them, and a broker that hears of more topics before it is answered."""

    def __init__(self, store: ProcessStore, cluster: MetadataCache) -> None:
        self._store = store
        self._cluster = cluster

    async def children(self, path: str) -> list[str]:
        names = sorted(self._store.tree.get(path).children)
        new = [TopicImage(name, NEW, {}) for name in ("deleted", "new")]
        self._cluster.update(self._cluster.image.with_topics(new))
        return names


async def test_what_the_controller_shows_it_since_then_stays(store: ProcessStore) -> None:
    """A topic that was made after the names were read, or made again."""
    broker = Broker(await store.session())
    await broker.missed.stop()
    names = HearsWhileItAsks(store, broker.cluster)
    missed = MissedDeletions(names, broker.cluster, broker.registration)
    await (await store.session()).delete(znodes.topic_path("other"))
    await broker.registration.start(BROKER)
    await broker.session.expire()
    await broker.shows("kept", "deleted", "new")
    await missed.stop()
    await broker.registration.stop()
