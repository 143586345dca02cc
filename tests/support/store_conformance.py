"""Tests that every metadata store passes: one suite, which the tests of each back end run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

import pytest

from kcompat.store.interface import (
    BadVersionError,
    Check,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SetData,
    Stat,
)

if TYPE_CHECKING:
    from kcompat.store.interface import MetadataStore


class StoreUnderTest(Protocol):
    """A store with nothing in it, and what can be done to its sessions."""

    async def session(self) -> MetadataStore:
        """A session of its own."""

    async def cut(self, session: MetadataStore) -> None:
        """Cut this session off, and wait until it knows."""

    def mend(self, session: MetadataStore) -> None:
        """Let it come back."""

    async def expire(self, session: MetadataStore) -> None:
        """End it from the store's side, and wait until it knows."""


class StoreConformance:
    """A subclass has the fixture `store`, a `StoreUnderTest`."""

    # -- nodes -------------------------------------------------------------------------------------------

    async def test_a_new_node_has_version_0_and_the_transaction_that_made_it(
        self, store: StoreUnderTest
    ) -> None:
        session = await store.session()
        assert await session.create("/a", b"x") == "/a"
        data, stat = await session.get("/a")
        assert data == b"x"
        assert stat == Stat(stat.czxid, stat.czxid, stat.ctime_ms, stat.ctime_ms, 0, 0, 0, 0, stat.czxid)
        assert await session.exists("/a") == stat

    async def test_the_last_transaction_is_known_from_the_last_answer(self, store: StoreUnderTest) -> None:
        one, other = await store.session(), await store.session()
        await one.create("/a", b"x")
        made = (await one.get("/a"))[1].czxid
        assert one.last_zxid >= made
        changed = (await other.set("/a", b"y")).mzxid
        assert other.last_zxid >= changed > made
        await one.get_many(["/absent", "/a"])
        assert one.last_zxid >= changed

    async def test_setting_counts_versions_and_moves_mzxid_only(self, store: StoreUnderTest) -> None:
        session = await store.session()
        await session.create("/a", b"x")
        _, before = await session.get("/a")
        after = await session.set("/a", b"y", 0)
        assert (after.version, after.cversion, after.czxid) == (1, 0, before.czxid)
        assert after.mzxid > before.mzxid
        assert after.mtime_ms >= after.ctime_ms == before.ctime_ms
        with pytest.raises(BadVersionError):
            await session.set("/a", b"z", 0)
        assert await session.get("/a") == (b"y", after)
        assert (await session.set("/a", b"", -1)).version == 2
        assert (await session.get("/a"))[0] == b""

    async def test_children_are_sorted_and_counted_in_cversion(self, store: StoreUnderTest) -> None:
        session = await store.session()
        await session.create("/a")
        for name in ("c", "b", "d"):
            await session.create(f"/a/{name}")
        made = await session.exists("/a/d")
        before = await session.exists("/a")
        assert made is not None
        assert before is not None
        assert before.pzxid == made.czxid
        await session.delete("/a/d")
        assert await session.children("/a") == ["b", "c"]
        stat = await session.exists("/a")
        assert stat is not None
        assert (stat.version, stat.cversion, stat.children, stat.mzxid) == (0, 4, 2, stat.czxid)
        assert stat.pzxid > before.pzxid

    async def test_what_is_not_there_or_in_the_way_is_refused(self, store: StoreUnderTest) -> None:
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
            await session.set("/x", b"")
        with pytest.raises(NoNodeError):
            await session.delete("/x")
        with pytest.raises(NotEmptyError):
            await session.delete("/a")
        with pytest.raises(BadVersionError):
            await session.delete("/a/b", 1)
        assert await session.exists("/x") is None

    @pytest.mark.parametrize("path", ["", "a", "/", "/a/", "/a//b"])
    async def test_a_path_that_is_none_is_a_fault_of_the_caller(
        self, store: StoreUnderTest, path: str
    ) -> None:
        session = await store.session()
        with pytest.raises(ValueError, match="not a path"):
            await session.create(path)

    async def test_many_nodes_are_read_at_once_and_absent_ones_are_none(self, store: StoreUnderTest) -> None:
        session = await store.session()
        paths = [f"/{number}" for number in range(100)]
        await session.multi([Create(path, path.encode()) for path in paths])
        nodes = await session.get_many(["/absent", *paths])
        assert nodes[0] is None
        assert [node[0] for node in nodes[1:] if node is not None] == [path.encode() for path in paths]
        assert await session.get_many([]) == []

    async def test_sequential_names_never_come_twice(self, store: StoreUnderTest) -> None:
        session = await store.session()
        await session.create("/q")
        assert await session.create("/q/n_", sequential=True) == "/q/n_0000000000"
        assert await session.create("/q/n_", sequential=True) == "/q/n_0000000001"
        await session.delete("/q/n_0000000001")
        assert await session.create("/q/n_", sequential=True) == "/q/n_0000000002"
        await session.create("/q/other")
        await session.delete("/q/n_0000000000")
        assert await session.create("/q/n_", sequential=True) == "/q/n_0000000004"

    async def test_changes_that_do_not_wait_for_each_other_are_made_in_order(
        self, store: StoreUnderTest
    ) -> None:
        session = await store.session()
        results = await asyncio.gather(
            session.create("/a", b"1"),
            session.set("/a", b"2", 0),
            session.delete("/a", 1),
            session.create("/a", b"3"),
        )
        assert results[0] == results[3] == "/a"
        assert (await session.get("/a"))[0] == b"3"

    # -- transactions ------------------------------------------------------------------------------------

    async def test_a_transaction_sees_itself_and_answers_for_each_operation(
        self, store: StoreUnderTest
    ) -> None:
        session = await store.session()
        results = await session.multi(
            [
                Create("/a", b"1"),
                Create("/a/b"),
                Create("/a/n_", sequential=True),
                SetData("/a", b"2", 0),
                Check("/a", 1),
                Delete("/a/b"),
            ]
        )
        stat = results[3]
        assert isinstance(stat, Stat)
        assert results == ["/a", "/a/b", "/a/n_0000000001", stat, None, None]
        assert (stat.version, stat.cversion, stat.mzxid) == (1, 2, stat.czxid)
        assert await session.children("/a") == ["n_0000000001"]

    @pytest.mark.parametrize(
        ("last", "error"),
        [
            (Check("/a", 7), BadVersionError),
            (Check("/x", 0), NoNodeError),
            (SetData("/a", b"", 7), BadVersionError),
            (Create("/a"), NodeExistsError),
            (Create("/x/y"), NoNodeError),
            (Delete("/x"), NoNodeError),
            (Delete("/a"), NotEmptyError),
        ],
    )
    async def test_a_transaction_that_fails_anywhere_changes_nothing(
        self, store: StoreUnderTest, last: Check | SetData | Create | Delete, error: type[Exception]
    ) -> None:
        session = await store.session()
        await session.create("/a", b"1")
        before = await session.exists("/a")
        with pytest.raises(error):
            await session.multi([SetData("/a", b"2"), Create("/a/b"), last, Create("/c")])
        assert await session.get("/a") == (b"1", before)
        assert await session.children("/a") == []
        assert await session.exists("/c") is None

    async def test_a_check_alone(self, store: StoreUnderTest) -> None:
        session = await store.session()
        await session.create("/a")
        assert await session.multi([Check("/a", 0)]) == [None]
        with pytest.raises(BadVersionError):
            await session.multi([Check("/a", 1)])
        assert await session.multi([]) == []

    async def test_of_two_who_expect_the_same_version_one_wins(self, store: StoreUnderTest) -> None:
        mine, other = await store.session(), await store.session()
        await mine.create("/a")
        outcomes = await asyncio.gather(
            mine.set("/a", b"mine", 0), other.set("/a", b"other", 0), return_exceptions=True
        )
        assert {type(outcome) for outcome in outcomes} == {Stat, BadVersionError}
