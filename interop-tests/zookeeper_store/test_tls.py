"""A ZooKeeper that is reached through TLS, and knows its clients by their certificates."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.store.interface import AccessDeniedError, StoreUnavailableError
from kcompat.store.zookeeper.sessions import ZooKeeper
from kcompat.store.zookeeper.settings import ZooKeeperSettings, ZooKeeperTls
from support.eventually import limit_s
from zookeeper_tls import TlsZooKeeper, make_authority, make_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def authority(directory: Path) -> Path:
    return make_authority(directory, "authority")


@pytest.fixture(scope="module")
def server(directory: Path, authority: Path) -> Iterator[TlsZooKeeper]:
    with TlsZooKeeper(make_store(directory, "server", authority), authority) as server:
        yield server


@pytest.fixture(scope="module")
def settings(server: TlsZooKeeper, directory: Path, authority: Path) -> ZooKeeperSettings:
    """Return the settings of a broker that the server accepts."""
    keystore = make_store(directory, "kafka", authority)
    tls = ZooKeeperTls(str(authority), str(keystore), versions=("TLSv1.2", "TLSv1.3"))
    return ZooKeeperSettings(f"127.0.0.1:{server.secure_port}", "/kafka", set_acl=True, tls=tls)


def test_sessions_and_access_lists(server: TlsZooKeeper, settings: ZooKeeperSettings) -> None:
    async def play() -> None:
        secure = ZooKeeper(settings)
        plain = ZooKeeper(ZooKeeperSettings(server.bootstrap, "/kafka"))
        mine, stranger = await secure.session(), await plain.session()
        payload = bytes(300_000)
        await mine.create("/brokers", payload)
        assert (await mine.get("/brokers"))[0] == payload
        assert (await stranger.get("/brokers"))[0] == payload
        with pytest.raises(AccessDeniedError):
            await stranger.set("/brokers", b"")
        await secure.close()
        await plain.close()

    asyncio.run(play())


def test_strangers_are_not_trusted(settings: ZooKeeperSettings, directory: Path) -> None:
    other = make_authority(directory, "other")
    assert settings.tls is not None
    distrusting = replace(settings.tls, truststore=str(other))
    distrusted = replace(settings.tls, keystore=str(make_store(directory, "stranger", other)))
    unknown = replace(settings.tls, keystore=None)
    timeout_ms = int(limit_s(1) * 1000)

    async def refused(tls: ZooKeeperTls) -> str:
        store = ZooKeeper(replace(settings, tls=tls, connection_timeout_ms=timeout_ms))
        with pytest.raises(StoreUnavailableError) as error:
            await store.session()
        return str(error.value)

    assert "certificate verify failed" in asyncio.run(refused(distrusting))
    for tls in (distrusted, unknown):
        assert f"took a session in {timeout_ms} ms" in asyncio.run(refused(tls))
