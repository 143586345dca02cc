"""Behaviour of the store of one process beyond that of every metadata store."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from kcompat.store.interface import (
    Access,
    BadVersionError,
    Check,
    Create,
    NodeExistsError,
    SessionExpiredError,
    SetAcl,
    Stat,
    StoreUnavailableError,
)
from kcompat.store.process_session import ProcessSession
from kcompat.store.process_store import ProcessStore
from kcompat.store.sqlite_journal import SqliteJournal
from kcompat.store.tree import StoredSession, Tree
from support.session_conformance import SessionConformance
from support.store_conformance import StoreConformance

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from kcompat.store.interface import MetadataStore
    from kcompat.store.tree import Staged

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


async def test_transactions_that_come_together_wait_for_the_disk_once_and_are_made_in_order() -> None:
    class CountingJournal:
        def __init__(self) -> None:
            self.written: list[tuple[int, set[str]]] = []

        def load(self) -> Tree:
            return Tree()

        async def write(self, zxid: int, staged: Staged) -> None:
            await asyncio.sleep(0)
            self.written.append((zxid, set(staged.nodes)))

        def close(self) -> None:
            return

    journal = CountingJournal()
    store = ProcessStore(journal, lambda: NOW_MS)
    mine, other = await store.session(), await store.session()
    seen: list[str] = []
    store.subscribe(lambda change: seen.append(change.event.path))
    outcomes: list[object] = list(
        await asyncio.gather(
            mine.create("/a"),
            other.create("/a/b_", sequential=True),
            mine.create("/a"),
            mine.create("/a/b_", sequential=True),
            other.delete("/a/b_0000000000"),
            mine.multi([Check("/a", 0)]),
            return_exceptions=True,
        )
    )
    assert outcomes[:2] == ["/a", "/a/b_0000000000"]
    assert isinstance(outcomes[2], NodeExistsError)
    assert outcomes[3:] == ["/a/b_0000000001", None, [None]]
    assert journal.written == [(4, {"/", "/a", "/a/b_0000000000", "/a/b_0000000001"})]
    assert store.tree.get("/a").pzxid == store.tree.zxid == 4
    assert seen == ["/a", "/", "/a/b_0000000000", "/a", "/a/b_0000000001", "/a", "/a/b_0000000000", "/a"]
    await store.close()


async def test_a_disk_that_refuses_a_group_fails_each_of_it_and_the_next_is_made() -> None:
    class FullJournal:
        is_full = True

        def load(self) -> Tree:
            return Tree()

        async def write(self, zxid: int, staged: Staged) -> None:
            if self.is_full:
                raise StoreUnavailableError("full")

        def close(self) -> None:
            return

    journal = FullJournal()
    store = ProcessStore(journal, lambda: NOW_MS)
    session = await store.session()
    outcomes = await asyncio.gather(session.create("/a"), session.create("/b"), return_exceptions=True)
    assert [type(each) for each in outcomes] == [StoreUnavailableError] * 2
    assert store.tree.nodes.keys() == {"/"}
    journal.is_full = False
    assert await session.create("/b") == "/b"
    assert store.tree.zxid == 1
    await store.close()


async def test_who_is_cancelled_waits_no_more_and_the_transaction_is_made(
    process_store: ProcessStore,
) -> None:
    session = await process_store.session()
    waiting = asyncio.ensure_future(session.create("/a"))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert await session.create("/b") == "/b"
    assert process_store.tree.get("/a").czxid < process_store.tree.get("/b").czxid


async def test_sessions_that_are_kept_end_with_the_process_unless_somebody_takes_them_over(
    tmp_path: Path,
) -> None:
    path = tmp_path / "metadata.db"
    store = ProcessStore(SqliteJournal(path), lambda: NOW_MS)
    kept = StoredSession(b"secret", 4000)
    await store.transact(77, lambda transaction: transaction.open_session(77, kept))
    await store.transact(77, lambda transaction: transaction.run(Create("/kept", None, ephemeral=True)))
    await (await store.session()).create("/broker", ephemeral=True)
    await store.close()

    store = ProcessStore(SqliteJournal(path), lambda: NOW_MS)
    assert store.take_over_sessions() == {77: kept}
    session = await store.session()
    assert await session.children("/") == ["kept"]
    assert store.tree.get("/kept").data is None
    assert (await session.get("/kept"))[0] == b""
    await store.close()

    store = ProcessStore(SqliteJournal(path), lambda: NOW_MS)
    session = await store.session()
    assert await session.children("/") == []
    assert not store.tree.sessions
    await store.close()


async def test_a_session_ends_with_what_it_made_in_the_same_breath(process_store: ProcessStore) -> None:
    kept = StoredSession(b"secret", 4000)
    process_store.submit(77, lambda transaction: transaction.open_session(77, kept))
    process_store.submit(77, lambda transaction: transaction.run(Create("/a", ephemeral=True)))
    process_store.submit(77, lambda transaction: transaction.end_sessions({77}))
    _, has_session = await process_store.transact(77, lambda transaction: transaction.has_session(77))
    assert not has_session
    assert process_store.tree.nodes.keys() == {"/"}
    assert not process_store.tree.sessions


async def test_who_is_told_that_a_node_exists_finds_it(process_store: ProcessStore) -> None:
    one, other = await process_store.session(), await process_store.session()

    async def create_or_read(session: MetadataStore, data: bytes) -> bytes:
        with suppress(NodeExistsError):
            await session.create("/first", data)
        found, _ = await session.get("/first")
        return found

    found = await asyncio.gather(create_or_read(one, b"one"), create_or_read(other, b"other"))
    assert list(found) == [b"one", b"one"]


async def test_a_tree_is_as_it_was_once_it_is_rewound(process_store: ProcessStore) -> None:
    session = await process_store.session()
    await session.multi([Create("/kept", b"k"), Create("/changed", b"1"), Create("/own", ephemeral=True)])
    await session.create("/gone", b"g")
    before, nodes = process_store.tree.zxid, session.nodes()
    await session.set("/changed", b"2")
    await session.delete("/gone")
    await session.multi([Create("/new"), Create("/new/child")])
    session.watch("/changed", lambda event: pytest.fail(f"{event} is reported"))
    late = process_store.submit(session.session_id, lambda transaction: transaction.run(Create("/late")))
    successor = await session.rewind(nodes)
    await late
    process_store.tree.check_invariants()
    assert process_store.tree.nodes == nodes
    assert process_store.tree.zxid > before
    assert (await successor.get("/changed"))[0] == b"1"
    with pytest.raises(SessionExpiredError):
        await session.get("/changed")
    await session.close()
    assert await successor.exists("/own") is not None
    stat = await successor.set("/changed", b"3")
    assert stat.version == 1
    assert nodes["/changed"].data == b"1", "a change does not reach what was remembered"


async def test_a_rewound_tree_is_stored(tmp_path: Path) -> None:
    store = ProcessStore(SqliteJournal(tmp_path / "metadata.db"), lambda: NOW_MS)
    session = await store.session()
    await session.create("/a", b"1")
    nodes = session.nodes()
    await session.set("/a", b"2")
    await session.create("/b")
    await session.rewind(nodes)
    await store.close()
    again = ProcessStore(SqliteJournal(tmp_path / "metadata.db"), lambda: NOW_MS)
    assert again.tree.nodes == nodes
    await again.close()
