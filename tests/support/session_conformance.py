"""Tests that the sessions and watches of every metadata store pass."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

import pytest

from kcompat.store.interface import (
    EventType,
    NoChildrenForEphemeralsError,
    SessionExpiredError,
    SessionState,
    WatchEvent,
)

if TYPE_CHECKING:
    from kcompat.store.interface import MetadataStore
    from support.store_conformance import StoreUnderTest

T = TypeVar("T")
PATIENCE_S = 30.0


class Heard(Generic[T]):
    """A listener that records its calls, in order."""

    def __init__(self) -> None:
        self.everything: list[T] = []
        self._told = asyncio.Event()

    def __call__(self, news: T) -> None:
        self.everything.append(news)
        self._told.set()

    async def until(self, *news: T) -> None:
        """Wait until that is the last of what was told, and fail after `PATIENCE_S`."""
        async with asyncio.timeout(PATIENCE_S):
            while tuple(self.everything[-len(news) :]) != news:
                self._told.clear()
                await self._told.wait()


def created(path: str) -> WatchEvent:
    return WatchEvent(EventType.CREATED, path)


def deleted(path: str) -> WatchEvent:
    return WatchEvent(EventType.DELETED, path)


def changed(path: str) -> WatchEvent:
    return WatchEvent(EventType.CHANGED, path)


def children_changed(path: str) -> WatchEvent:
    return WatchEvent(EventType.CHILDREN_CHANGED, path)


def missed(path: str) -> WatchEvent:
    return WatchEvent(EventType.MISSED, path)


class SessionConformance:
    """A subclass has the fixture `store`, a `StoreUnderTest`."""

    # -- sessions ----------------------------------------------------------------------------------------

    async def test_ephemerals_go_with_their_session(self, store: StoreUnderTest) -> None:
        mine, other = await store.session(), await store.session()
        await mine.create("/mine", ephemeral=True)
        await other.create("/other", ephemeral=True)
        stat = await other.exists("/mine")
        assert stat is not None
        assert 0 != stat.ephemeral_owner == mine.session_id != other.session_id
        with pytest.raises(NoChildrenForEphemeralsError):
            await mine.create("/mine/child")
        await mine.close()
        await mine.close()
        assert await other.exists("/mine") is None
        assert await other.exists("/other") is not None
        with pytest.raises(SessionExpiredError):
            await mine.get("/other")
        with pytest.raises(SessionExpiredError):
            await mine.create("/again")
        with pytest.raises(SessionExpiredError):
            await mine.renew()

    async def test_a_session_that_ends_says_so_and_does_nothing_more_until_it_is_renewed(
        self, store: StoreUnderTest
    ) -> None:
        mine, other = await store.session(), await store.session()
        states: Heard[SessionState] = Heard()
        mine.subscribe(states)
        await mine.create("/mine", ephemeral=True)
        old_id = mine.session_id
        assert mine.state is SessionState.CONNECTED
        await store.expire(mine)
        await states.until(SessionState.SUSPENDED, SessionState.EXPIRED)
        assert mine.state is states.everything[-1]
        assert await other.exists("/mine") is None
        with pytest.raises(SessionExpiredError):
            await mine.create("/mine", ephemeral=True)
        with pytest.raises(SessionExpiredError):
            await mine.exists("/mine")
        with pytest.raises(SessionExpiredError):
            await mine.get_many(["/mine"])
        with pytest.raises(SessionExpiredError):
            mine.watch("/mine", print)
        await mine.renew()
        await states.until(SessionState.EXPIRED, SessionState.CONNECTED)
        assert mine.session_id != old_id
        await mine.create("/mine", ephemeral=True)
        stat = await other.exists("/mine")
        assert stat is not None
        assert stat.ephemeral_owner == mine.session_id

    async def test_calls_of_a_session_that_is_cut_off_wait_and_keep_their_order(
        self, store: StoreUnderTest
    ) -> None:
        mine, other = await store.session(), await store.session()
        states: Heard[SessionState] = Heard()
        subscription = mine.subscribe(states)
        await store.cut(mine)
        assert states.everything == [SessionState.SUSPENDED]
        changes = asyncio.gather(mine.create("/a", b"1"), mine.set("/a", b"2", 0))
        reading = asyncio.ensure_future(mine.children("/"))
        assert await other.exists("/a") is None
        assert not changes.done()
        assert not reading.done()
        store.mend(mine)
        await changes
        await reading
        assert (await mine.get("/a"))[0] == b"2"
        assert states.everything == [SessionState.SUSPENDED, SessionState.CONNECTED]
        subscription.cancel()
        await store.cut(mine)
        assert len(states.everything) == 2

    async def test_calls_that_wait_hear_of_the_end_of_the_session(self, store: StoreUnderTest) -> None:
        mine = await store.session()
        await store.cut(mine)
        calls = [
            asyncio.ensure_future(call) for call in (mine.create("/a", ephemeral=True), mine.exists("/a"))
        ]
        await store.expire(mine)
        for call in calls:
            with pytest.raises(SessionExpiredError):
                await call
        other = await store.session()
        assert await other.exists("/a") is None

    async def test_ephemerals_outlive_a_cut(self, store: StoreUnderTest) -> None:
        mine, other = await store.session(), await store.session()
        await mine.create("/mine", ephemeral=True)
        await store.cut(mine)
        store.mend(mine)
        stat = await mine.exists("/mine")
        assert stat is not None
        assert stat.ephemeral_owner == mine.session_id
        assert await other.exists("/mine") == stat

    # -- watches -----------------------------------------------------------------------------------------

    async def test_watches_report_changes_in_order_until_taken_back(self, store: StoreUnderTest) -> None:
        mine, other = await store.session(), await store.session()
        seen: Heard[WatchEvent] = Heard()
        watch = mine.watch("/a", seen)
        assert await mine.exists("/a") is None
        await other.create("/a", b"1")
        await seen.until(created("/a"))
        await other.set("/a", b"2")
        await seen.until(created("/a"), changed("/a"))
        await other.create("/a/b")
        await seen.until(changed("/a"), children_changed("/a"))
        await other.delete("/a/b")
        await seen.until(children_changed("/a"), children_changed("/a"))
        await other.delete("/a")
        await seen.until(children_changed("/a"), deleted("/a"))
        await other.create("/a")
        await seen.until(deleted("/a"), created("/a"))
        watch.cancel()
        watch.cancel()
        again: Heard[WatchEvent] = Heard()
        mine.watch("/a", again)
        await mine.exists("/a")
        await other.delete("/a")
        await again.until(deleted("/a"))
        assert len(seen.everything) == 6

    async def test_a_session_hears_of_its_own_changes(self, store: StoreUnderTest) -> None:
        mine = await store.session()
        await mine.create("/a")
        seen: Heard[WatchEvent] = Heard()
        mine.watch("/a", seen)
        await mine.set("/a", b"1")
        await seen.until(changed("/a"))
        await mine.create("/a/b")
        await seen.until(changed("/a"), children_changed("/a"))

    async def test_a_change_between_two_reports_is_seen_or_told(self, store: StoreUnderTest) -> None:
        """However fast they come, who reads after each report has read the last one in the end."""
        mine, other = await store.session(), await store.session()
        await other.create("/a", b"0")
        last_read = b"0"
        told = asyncio.Event()
        mine.watch("/a", lambda _: told.set())
        writer = asyncio.ensure_future(self._count_to(other, 200))
        async with asyncio.timeout(PATIENCE_S):
            while last_read != b"200":
                await told.wait()
                told.clear()
                last_read, _ = await mine.get("/a")
        await writer

    async def _count_to(self, session: MetadataStore, end: int) -> None:
        for number in range(1, end + 1):
            await session.set("/a", str(number).encode())

    async def test_a_watch_that_raises_keeps_no_news_from_the_others_and_harms_no_writer(
        self, store: StoreUnderTest
    ) -> None:
        mine, other = await store.session(), await store.session()
        first: Heard[WatchEvent] = Heard()
        second: Heard[WatchEvent] = Heard()

        def broken(_: WatchEvent) -> None:
            raise ZeroDivisionError

        mine.watch("/a", broken)
        mine.watch("/a", first)
        other.watch("/a", second)
        await mine.exists("/a")
        await other.create("/a")
        await first.until(created("/a"))
        await second.until(created("/a"))

    async def test_the_end_of_a_session_is_seen_by_the_others(self, store: StoreUnderTest) -> None:
        mine, other = await store.session(), await store.session()
        await mine.create("/controller", ephemeral=True)
        seen: Heard[WatchEvent] = Heard()
        other.watch("/controller", seen)
        await other.exists("/controller")
        await mine.close()
        await seen.until(deleted("/controller"))

    async def test_a_watch_that_was_cut_off_says_so_and_goes_on(self, store: StoreUnderTest) -> None:
        mine, other = await store.session(), await store.session()
        await mine.create("/a")
        seen: Heard[WatchEvent] = Heard()
        mine.watch("/a", seen)
        await mine.exists("/a")
        await store.cut(mine)
        await other.set("/a", b"1")
        assert seen.everything == []
        store.mend(mine)
        await seen.until(missed("/a"))
        await other.set("/a", b"2")
        await seen.until(missed("/a"), changed("/a"))

    async def test_a_watch_set_while_cut_off_leaves_no_gap(self, store: StoreUnderTest) -> None:
        mine, other = await store.session(), await store.session()
        await other.create("/a", b"1")
        await store.cut(mine)
        seen: Heard[WatchEvent] = Heard()
        mine.watch("/a", seen)
        reading = asyncio.ensure_future(mine.get("/a"))
        await other.set("/a", b"2")
        store.mend(mine)
        assert (await reading)[0] == b"2"
        await other.set("/a", b"3")
        await seen.until(changed("/a"))

    async def test_watches_go_on_in_the_session_that_takes_the_place_of_another(
        self, store: StoreUnderTest
    ) -> None:
        mine, other = await store.session(), await store.session()
        seen: Heard[WatchEvent] = Heard()
        mine.watch("/a", seen)
        await mine.exists("/a")
        await store.expire(mine)
        await other.create("/a")
        assert seen.everything == []
        await mine.renew()
        await seen.until(missed("/a"))
        await other.set("/a", b"1")
        await seen.until(missed("/a"), changed("/a"))
