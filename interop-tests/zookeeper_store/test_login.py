"""A ZooKeeper that lets nobody in without SASL, which kcompat does not speak."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kcompat.store.interface import StoreUnavailableError
from kcompat.store.zookeeper.sessions import ZooKeeper
from kcompat.store.zookeeper.settings import Credential, ZooKeeperSettings
from zookeeper_kafka import ZooKeeper as ZooKeeperServer

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGIN = 'Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_kafka="secret"; };\n'
LINES = """authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
enforce.auth.enabled=true
enforce.auth.schemes=sasl
"""
LET_IN = (Credential("digest", "kafka:secret"),)


class DemandingZooKeeper(ZooKeeperServer):
    """One that knows one user."""

    def prepare(self) -> None:
        super().prepare()
        with (self.home / "zoo.cfg").open("a") as config:
            config.write(LINES)
        (self.home / "jaas.conf").write_text(LOGIN)

    def command(self) -> list[str]:
        java, *arguments = super().command()
        return [java, f"-Djava.security.auth.login.config={self.home / 'jaas.conf'}", *arguments]


@pytest.fixture(scope="module")
def server() -> Iterator[DemandingZooKeeper]:
    with DemandingZooKeeper() as server:
        yield server


@pytest.mark.parametrize("credentials", [(), LET_IN])
@pytest.mark.parametrize("chroot", ["", "/kafka"])
def test_the_user_is_told_what_to_do(
    server: DemandingZooKeeper, chroot: str, credentials: tuple[Credential, ...]
) -> None:
    async def begin() -> None:
        store = ZooKeeper(ZooKeeperSettings(server.bootstrap, chroot, credentials=credentials))
        with pytest.raises(StoreUnavailableError, match=r"enforce\.auth\.schemes"):
            await store.session()
        await store.close()

    asyncio.run(begin())
