"""What the store of one process does beyond what every metadata store does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.process_session import ProcessSession
from kcompat.cluster.process_store import ProcessStore
from kcompat.cluster.sqlite_journal import SqliteJournal
from kcompat.cluster.store import Access, BadVersionError, Check, Create, SetAcl, Stat
from support.session_conformance import SessionConformance
from support.store_conformance import StoreConformance

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from kcompat.cluster.store import MetadataStore

NOW_MS = 1_700_000_000_000


@pytest.fixture(params=["memory", "sqlite"])
async def process_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ProcessStore]:
    if request.param == "memory":
        opened = ProcessStore.in_memory(lambda: NOW_MS)
    else:
        opened = ProcessStore(SqliteJournal(tmp_path / "metadata.db"), lambda: NOW_MS)
    yield opened
    opened.tree.check_invariants()
    await opened.close()


class ProcessStoreUnderTest:
    def __init__(self, store: ProcessStore) -> None:
        self._store = store

    async def session(self) -> MetadataStore:
        return await self._store.session()

    async def cut(self, session: MetadataStore) -> None:
        assert isinstance(session, ProcessSession)
        session.suspend()

    def mend(self, session: MetadataStore) -> None:
        assert isinstance(session, ProcessSession)
        session.resume()

    async def expire(self, session: MetadataStore) -> None:
        assert isinstance(session, ProcessSession)
        await session.expire()


class TestConformance(StoreConformance, SessionConformance):
    @pytest.fixture
    def store(self, process_store: ProcessStore) -> ProcessStoreUnderTest:
        return ProcessStoreUnderTest(process_store)


async def test_transactions_are_numbered_one_by_one(process_store: ProcessStore) -> None:
    session = await process_store.session()
    await session.create("/a", b"x")
    assert await session.get("/a") == (b"x", Stat(1, 1, NOW_MS, NOW_MS, 0, 0, 0, 0, 1))
    results = await session.multi([Create("/a/b"), Check("/a", 0)])
    assert results == ["/a/b", None]
    assert await session.exists("/a") == Stat(1, 1, NOW_MS, NOW_MS, 0, 1, 0, 1, 2)
    with pytest.raises(BadVersionError):
        await session.multi([Create("/a/c"), Check("/a", 7)])
    assert await session.multi([Check("/a", 0)]) == [None]
    assert process_store.tree.zxid == 2


async def test_access_control_lists_are_kept_and_counted(process_store: ProcessStore) -> None:
    session = await process_store.session()
    mine = (Access(31, "digest", "alice:x="),)
    await session.multi([Create("/a", acl=mine)])
    assert process_store.tree.get("/a").acl == mine
    read_only = (*mine, Access(1, "world", "anyone"))
    (stat,) = await process_store.commit(session.session_id, [SetAcl("/a", read_only, 0)])
    assert stat == Stat(1, 1, NOW_MS, NOW_MS, 0, 0, 0, 0, 1, 1)
    assert process_store.tree.get("/a").acl == read_only
    with pytest.raises(BadVersionError):
        await process_store.commit(session.session_id, [SetAcl("/a", mine, 0)])
