"""Behaviour of the store on a real ZooKeeper beyond that of every metadata store."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
from kazoo.client import KazooClient

from kcompat.store.interface import (
    AccessDeniedError,
    BadVersionError,
    Check,
    Create,
    EventType,
    SessionState,
    SetData,
    Stat,
    StoreUnavailableError,
    TransactionTooLargeError,
    UnknownOutcomeError,
    WatchEvent,
)
from kcompat.store.zookeeper.sessions import ZooKeeper
from kcompat.store.zookeeper.settings import Credential, ZooKeeperSettings
from support.cut_link import CutLink
from support.session_conformance import Heard
from support.zookeeper_under_test import until
from zookeeper_kafka import ZooKeeper as ZooKeeperServer

if TYPE_CHECKING:
    from support.zookeeper_under_test import ZooKeeperUnderTest

ME = Credential("digest", "kafka:secret")


class TestLostAnswers:
    """The request was done, and the connection broke before the answer."""

    async def test_a_creation_is_answered_as_if_nothing_had_happened(self, store: ZooKeeperUnderTest) -> None:
        session = await store.session()
        link = store.link(session)
        link.lose_the_answer_to(lambda data: b"/lost" in data)
        making = asyncio.ensure_future(session.create("/lost", b"x"))
        await link.has_cut.wait()
        link.mend()
        assert await making == "/lost"
        assert (await session.get("/lost"))[1].version == 0

    async def test_a_change_is_made_once(self, store: ZooKeeperUnderTest) -> None:
        session = await store.session()
        await session.create("/lost", b"0")
        link = store.link(session)
        link.lose_the_answer_to(lambda data: b"/lost" in data)
        setting = asyncio.ensure_future(session.set("/lost", b"1", 0))
        await link.has_cut.wait()
        link.mend()
        stat = await setting
        assert stat.version == 1
        assert await session.get("/lost") == (b"1", stat)

    async def test_a_transaction_with_a_numbered_node(self, store: ZooKeeperUnderTest) -> None:
        session = await store.session()
        await session.multi([Create("/guard"), Create("/changes"), Create("/a")])
        link = store.link(session)
        link.lose_the_answer_to(lambda data: b"/changes/c_" in data)
        making = asyncio.ensure_future(
            session.multi(
                [Check("/guard", 0), SetData("/a", b"x", 0), Create("/changes/c_", b"a", sequential=True)]
            )
        )
        await link.has_cut.wait()
        link.mend()
        checked, stat, made = await making
        assert checked is None
        assert isinstance(stat, Stat)
        assert stat.version == 1
        assert made == "/changes/c_0000000000"
        assert await session.children("/changes") == ["c_0000000000"]

    async def test_a_refusal_is_a_refusal(self, store: ZooKeeperUnderTest) -> None:
        session = await store.session()
        await session.create("/lost", b"0")
        link = store.link(session)
        link.lose_the_answer_to(lambda data: b"/lost" in data)
        setting = asyncio.ensure_future(session.set("/lost", b"1", 5))
        await link.has_cut.wait()
        link.mend()
        with pytest.raises(BadVersionError):
            await setting
        assert (await session.get("/lost"))[0] == b"0"

    async def test_what_another_has_gone_over_since_is_unknown(self, store: ZooKeeperUnderTest) -> None:
        session, other = await store.session(), await store.session()
        await session.create("/lost", b"0")
        link = store.link(session)
        link.lose_the_answer_to(lambda data: b"/lost" in data)
        setting = asyncio.ensure_future(session.set("/lost", b"1", 0))
        await link.has_cut.wait()
        assert (await other.get("/lost"))[0] == b"1"
        await other.set("/lost", b"2")
        link.mend()
        with pytest.raises(UnknownOutcomeError, match="/lost"):
            await setting
        assert (await session.set("/lost", b"3")).version == 3

    async def test_what_was_asked_later_comes_later(self, store: ZooKeeperUnderTest) -> None:
        session = await store.session()
        link = store.link(session)
        link.lose_the_answer_to(lambda data: b"/lost" in data)
        first = asyncio.ensure_future(session.create("/lost", b"0"))
        await link.has_cut.wait()
        later = [
            asyncio.ensure_future(session.set("/lost", b"%d" % version, version)) for version in range(30)
        ]
        link.mend()
        await first
        assert [(await answer).version for answer in later] == list(range(1, 31))

    async def test_reads_are_asked_again(self, store: ZooKeeperUnderTest) -> None:
        session = await store.session()
        await session.create("/lost", b"0")
        link = store.link(session)
        link.lose_the_answer_to(lambda data: b"/lost" in data)
        reading = asyncio.gather(session.get("/lost"), session.exists("/absent"), session.children("/lost"))
        await link.has_cut.wait()
        link.mend()
        (data, _), absent, children = await reading
        assert (data, absent, children) == (b"0", None, [])


async def test_changes_over_a_link_that_breaks_at_any_moment_are_made_once_and_in_order(
    store: ZooKeeperUnderTest,
) -> None:
    session, other = await store.session(), await store.session()
    await session.create("/log")
    link = store.link(session)
    for number in range(40):
        making = asyncio.ensure_future(session.create("/log/n_", b"%d" % number, sequential=True))
        for _ in range(number):
            await asyncio.sleep(0)  # each time the loop goes round, another part of it has happened
        await store.cut(session)
        link.mend()
        await making
        await until(session, SessionState.CONNECTED)
    names = await other.children("/log")
    nodes = await other.get_many([f"/log/{name}" for name in names])
    assert [node[0] for node in nodes if node] == [b"%d" % number for number in range(40)]


async def test_the_chroot_is_made_where_it_is_missing(store: ZooKeeperUnderTest) -> None:
    session = await store.session()
    await session.create("/a", b"x")
    assert await session.children("/") == ["a"]
    above = store.chroot.split("/")[1]
    store.chroot = ""
    whole = await store.session()
    assert above in await whole.children("/")
    assert await whole.exists("/a") is None


async def test_a_chroot_that_may_not_be_made_is_named(store: ZooKeeperUnderTest) -> None:
    await store.session(set_acl=True, credentials=(ME,))
    store.chroot += "/of/a/stranger"
    with pytest.raises(StoreUnavailableError, match=f"^the node {store.chroot} of zookeeper.connect "):
        await store.session()


async def test_a_transaction_that_no_server_takes_is_refused(store: ZooKeeperUnderTest) -> None:
    session = await store.session()
    with pytest.raises(TransactionTooLargeError):
        await session.multi([Create(f"/{number}", bytes(1000)) for number in range(1000)])
    assert await session.children("/") == []
    await session.multi([Create(f"/{number}", bytes(1000)) for number in range(800)])
    assert len(await session.children("/")) == 800


async def test_no_server(store: ZooKeeperUnderTest) -> None:
    link = CutLink(store.address)
    port = await link.open()
    link.cut()
    settings = ZooKeeperSettings(f"127.0.0.1:{port}", connection_timeout_ms=300)
    began = time.monotonic()
    with pytest.raises(StoreUnavailableError, match=f"no ZooKeeper at 127.0.0.1:{port} took a session"):
        await ZooKeeper(settings).session()
    assert time.monotonic() - began < 5
    await link.close()


async def test_nodes_belong_to_who_makes_them(store: ZooKeeperUnderTest) -> None:
    mine = await store.session(set_acl=True, credentials=(ME,))
    stranger = await store.session()
    await mine.multi([Create("/brokers"), Create("/config"), Create("/config/users"), Create("/consumers")])
    await mine.create("/config/users/alice", b"secret")
    await mine.set("/brokers", b"x")
    assert (await stranger.get("/brokers"))[0] == b"x"
    with pytest.raises(AccessDeniedError):
        await stranger.set("/brokers", b"y")
    with pytest.raises(AccessDeniedError):
        await stranger.create("/brokers/ids")
    with pytest.raises(AccessDeniedError):
        await stranger.get("/config/users/alice")
    assert await stranger.get_many(["/brokers"]) == [await stranger.get("/brokers")]
    with pytest.raises(AccessDeniedError):
        await stranger.get_many(["/brokers", "/config/users/alice"])
    await stranger.create("/consumers/group")


async def test_credentials_and_access_lists_are_those_of_other_clients(store: ZooKeeperUnderTest) -> None:
    mine = await store.session(set_acl=True, credentials=(ME,))
    await mine.create("/brokers")

    def look() -> tuple[list[object], list[object]]:
        client = KazooClient("{}:{}".format(*store.address), auth_data=[(ME.scheme, ME.text)])
        client.start()
        try:
            client.set(f"{store.chroot}/brokers", b"theirs")
            return client.get_acls(f"{store.chroot}/brokers")[0], client.get_acls(store.chroot)[0]
        finally:
            client.stop()
            client.close()

    acl, chroot_acl = await asyncio.to_thread(look)
    assert [(entry.perms, entry.id.scheme, entry.id.id.split(":")[0]) for entry in acl] == [
        (31, "digest", "kafka"),
        (1, "world", "anyone"),
    ]
    assert chroot_acl == acl
    assert (await mine.get("/brokers"))[0] == b"theirs"


async def test_a_session_that_is_silent_for_too_long_ends(store: ZooKeeperUnderTest) -> None:
    store.session_timeout_ms = 6000
    mine = await store.session()
    store.session_timeout_ms = 30_000
    other = await store.session()
    await mine.create("/mine", ephemeral=True)
    gone: Heard[WatchEvent] = Heard()
    other.watch("/mine", gone)
    assert await other.exists("/mine") is not None
    await store.cut(mine)
    await gone.until(WatchEvent(EventType.DELETED, "/mine"))
    assert mine.state is SessionState.SUSPENDED
    store.mend(mine)
    await until(mine, SessionState.EXPIRED)
    await mine.renew()
    await mine.create("/mine", ephemeral=True)


async def test_a_session_outlives_the_death_of_the_server() -> None:
    with ZooKeeperServer() as server:
        zookeeper = ZooKeeper(ZooKeeperSettings(server.bootstrap, session_timeout_ms=30_000))
        mine, other = await zookeeper.session(), await zookeeper.session()
        await mine.create("/mine", b"1", ephemeral=True)
        session_id = mine.session_id
        seen: Heard[WatchEvent] = Heard()
        mine.watch("/mine", seen)
        await mine.exists("/mine")
        await asyncio.to_thread(server.kill)
        await until(mine, SessionState.SUSPENDED)
        setting = asyncio.ensure_future(mine.set("/mine", b"2", 0))
        await asyncio.to_thread(server.start)
        assert (await setting).version == 1
        assert seen.everything[0] == WatchEvent(EventType.MISSED, "/mine")
        stat = await other.exists("/mine")
        assert stat is not None
        assert stat.ephemeral_owner == mine.session_id == session_id
        await zookeeper.close()
