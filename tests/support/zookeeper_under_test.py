"""A ZooKeeper, real or ours, as the suite of every metadata store needs it (`StoreUnderTest`)."""

from __future__ import annotations

import asyncio
import itertools
import struct
from typing import TYPE_CHECKING

from kazoo.client import KazooClient
from msgspec import Struct

from kcompat.store.interface import SessionState
from kcompat.store.zookeeper.sessions import ZooKeeper
from kcompat.store.zookeeper.settings import Credential, ZooKeeperSettings, ZooKeeperTls
from support.cut_link import CutLink

if TYPE_CHECKING:
    import ssl

    from kcompat.store.interface import MetadataStore

_numbers = itertools.count(1)


class Secured(Struct, frozen=True):
    """How sessions reach a ZooKeeper by TLS: its port for that, the contexts of their links (`CutLink`), and
    their own settings.
    """

    port: int
    contexts: tuple[ssl.SSLContext, ssl.SSLContext]
    settings: ZooKeeperTls


class ZooKeeperUnderTest:
    """A path of its own in a ZooKeeper, and sessions over links that can be cut."""

    def __init__(self, address: tuple[str, int], secured: Secured | None = None) -> None:
        self.address = address
        self._secured = secured
        self.chroot = f"/test-{next(_numbers)}/store"
        self.session_timeout_ms = 30_000
        self._links: dict[int, CutLink] = {}
        self._stores: list[ZooKeeper] = []

    async def session(
        self, *, set_acl: bool = False, credentials: tuple[Credential, ...] = ()
    ) -> MetadataStore:
        """A session over a link of its own."""
        secured = self._secured
        link = (
            CutLink(self.address)
            if secured is None
            else CutLink((self.address[0], secured.port), secured.contexts)
        )
        settings = ZooKeeperSettings(
            f"127.0.0.1:{await link.open()}",
            self.chroot,
            session_timeout_ms=self.session_timeout_ms,
            set_acl=set_acl,
            credentials=credentials,
            tls=None if secured is None else secured.settings,
        )
        store = ZooKeeper(settings)
        self._stores.append(store)
        session = await store.session()
        self._links[id(session)] = link
        return session

    def link(self, session: MetadataStore) -> CutLink:
        """Return the link of a session."""
        return self._links[id(session)]

    async def cut(self, session: MetadataStore) -> None:
        self.link(session).cut()
        await until(session, SessionState.SUSPENDED)

    def mend(self, session: MetadataStore) -> None:
        self.link(session).mend()

    async def expire(self, session: MetadataStore) -> None:
        """Another client takes the session over and closes it."""
        link = self.link(session)
        _, _, _, session_id, length = struct.unpack_from(">iiiqi", link.first_answer)
        password = link.first_answer[24 : 24 + length]
        link.cut()
        await asyncio.to_thread(self._end_session, session_id, password)
        link.mend()
        await until(session, SessionState.EXPIRED)

    def _end_session(self, session_id: int, password: bytes) -> None:
        client = KazooClient("{}:{}".format(*self.address), client_id=(session_id, password))
        client.start()
        assert client.client_id == (session_id, password)
        client.stop()
        client.close()

    async def close(self) -> None:
        """End every session."""
        for link in self._links.values():
            link.mend()
        for store in self._stores:
            await store.close()
        for link in self._links.values():
            await link.close()


async def until(session: MetadataStore, state: SessionState) -> None:
    """Wait until a session is in this state."""
    told = asyncio.Event()
    subscription = session.subscribe(lambda news: told.set() if news is state else None)
    if session.state is not state:
        await asyncio.wait_for(told.wait(), 30)
    subscription.cancel()
