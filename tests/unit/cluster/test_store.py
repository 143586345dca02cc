"""What every metadata store does, whatever is behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.process_store import ProcessStore
from kcompat.cluster.sqlite_journal import SqliteJournal
from kcompat.cluster.store import (
    BadVersionError,
    Check,
    Create,
    Delete,
    EventType,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
    SetData,
    Stat,
    WatchEvent,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NOW_MS = 1_700_000_000_000


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ProcessStore]:
    if request.param == "memory":
        opened = ProcessStore.in_memory(lambda: NOW_MS)
    else:
        opened = ProcessStore(SqliteJournal(tmp_path / "metadata.db"), lambda: NOW_MS)
    yield opened
    opened.tree.check_invariants()
    await opened.close()


async def test_a_new_node_has_version_0_and_the_transaction_that_made_it(store: ProcessStore) -> None:
    session = await store.session()
    assert await session.create("/a", b"x") == "/a"
    assert await session.get("/a") == (b"x", Stat(1, 1, NOW_MS, NOW_MS, 0, 0, 0, 0))


async def test_setting_counts_versions_and_moves_mzxid_only(store: ProcessStore) -> None:
    session = await store.session()
    await session.create("/a", b"x")
    assert await session.set("/a", b"y", 0) == Stat(1, 2, NOW_MS, NOW_MS, 1, 0, 0, 0)
    with pytest.raises(BadVersionError):
        await session.set("/a", b"z", 0)
    assert (await session.get("/a"))[0] == b"y"


async def test_children_are_sorted_and_counted_in_cversion(store: ProcessStore) -> None:
    session = await store.session()
    await session.create("/a")
    for name in ("c", "b", "d"):
        await session.create(f"/a/{name}")
    await session.delete("/a/d")
    assert await session.children("/a") == ["b", "c"]
    stat = await session.exists("/a")
    assert stat is not None
    assert (stat.version, stat.cversion, stat.children) == (0, 4, 2)


async def test_what_is_not_there_or_in_the_way_is_refused(store: ProcessStore) -> None:
    session = await store.session()
    await session.create("/a")
    await session.create("/a/b")
    with pytest.raises(NodeExistsError):
        await session.create("/a")
    with pytest.raises(NoNodeError):
        await session.create("/x/y")
    with pytest.raises(NoNodeError):
        await session.get("/x")
    with pytest.raises(NoNodeError):
        await session.children("/x")
    with pytest.raises(NoNodeError):
        await session.delete("/x")
    with pytest.raises(NotEmptyError):
        await session.delete("/a")
    with pytest.raises(BadVersionError):
        await session.delete("/a/b", 1)
    assert await session.exists("/x") is None


@pytest.mark.parametrize("path", ["", "a", "/", "/a/", "/a//b"])
async def test_a_path_that_is_none_is_a_fault_of_the_caller(store: ProcessStore, path: str) -> None:
    session = await store.session()
    with pytest.raises(ValueError, match="not a path"):
        await session.create(path)


async def test_sequential_names_never_come_twice(store: ProcessStore) -> None:
    session = await store.session()
    await session.create("/q")
    assert await session.create("/q/n_", sequential=True) == "/q/n_0000000000"
    assert await session.create("/q/n_", sequential=True) == "/q/n_0000000001"
    await session.delete("/q/n_0000000001")
    assert await session.create("/q/n_", sequential=True) == "/q/n_0000000003"


async def test_a_transaction_sees_itself_and_answers_for_each_operation(store: ProcessStore) -> None:
    session = await store.session()
    results = await session.multi(
        [
            Create("/a", b"1"),
            Create("/a/b"),
            SetData("/a", b"2", 0),
            Check("/a", 1),
            Delete("/a/b"),
        ]
    )
    assert results == ["/a", "/a/b", Stat(1, 1, NOW_MS, NOW_MS, 1, 1, 0, 1), None, None]
    assert await session.children("/a") == []
    assert store.tree.zxid == 1


async def test_a_transaction_that_fails_anywhere_changes_nothing(store: ProcessStore) -> None:
    session = await store.session()
    await session.create("/a", b"1")
    with pytest.raises(BadVersionError):
        await session.multi([SetData("/a", b"2"), Create("/a/b"), Check("/a", 7)])
    assert (await session.get("/a"))[0] == b"1"
    assert await session.children("/a") == []
    assert store.tree.zxid == 1


async def test_a_check_alone_is_no_transaction(store: ProcessStore) -> None:
    session = await store.session()
    await session.create("/a")
    assert await session.multi([Check("/a", 0)]) == [None]
    assert store.tree.zxid == 1


async def test_ephemerals_go_with_their_session(store: ProcessStore) -> None:
    mine, other = await store.session(), await store.session()
    await mine.create("/mine", ephemeral=True)
    await other.create("/other", ephemeral=True)
    stat = await other.exists("/mine")
    assert stat is not None
    assert stat.ephemeral_owner == mine.session_id != other.session_id
    with pytest.raises(NoChildrenForEphemeralsError):
        await mine.create("/mine/child")
    await mine.close()
    assert await other.exists("/mine") is None
    assert await other.exists("/other") is not None
    with pytest.raises(SessionExpiredError):
        await mine.get("/other")
    with pytest.raises(SessionExpiredError):
        await mine.create("/again")


async def test_watches_report_changes_in_order_until_taken_back(store: ProcessStore) -> None:
    mine, other = await store.session(), await store.session()
    seen: list[WatchEvent] = []
    watch = mine.watch("/a", seen.append)
    await other.create("/a", b"1")
    await other.multi([SetData("/a", b"2"), Create("/a/b")])
    await other.delete("/a/b")
    await other.delete("/a")
    assert seen == [
        WatchEvent(EventType.CREATED, "/a"),
        WatchEvent(EventType.CHANGED, "/a"),
        WatchEvent(EventType.CHILDREN_CHANGED, "/a"),
        WatchEvent(EventType.CHILDREN_CHANGED, "/a"),
        WatchEvent(EventType.DELETED, "/a"),
    ]
    watch.cancel()
    watch.cancel()
    await other.create("/a")
    assert len(seen) == 5


async def test_a_watch_that_raises_keeps_no_news_from_the_others_and_harms_no_writer(
    store: ProcessStore,
) -> None:
    mine, other = await store.session(), await store.session()
    seen: list[WatchEvent] = []

    def broken(_: WatchEvent) -> None:
        raise ZeroDivisionError

    mine.watch("/a", broken)
    mine.watch("/a", seen.append)
    other.watch("/a", seen.append)
    await other.create("/a")
    assert seen == [WatchEvent(EventType.CREATED, "/a")] * 2


async def test_the_end_of_a_session_is_seen_by_the_others(store: ProcessStore) -> None:
    mine, other = await store.session(), await store.session()
    await mine.create("/controller", ephemeral=True)
    seen: list[WatchEvent] = []
    other.watch("/controller", seen.append)
    await mine.close()
    assert seen == [WatchEvent(EventType.DELETED, "/controller")]
