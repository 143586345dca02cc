"""A real ZooKeeper, also by TLS, and our own ZooKeeper port, and tests that are coroutines."""

from __future__ import annotations

import asyncio
import inspect
import ssl
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from msgspec import Struct

from kcompat.store.zookeeper.settings import ZooKeeperTls
from support.zookeeper_broker import ZooKeeperBroker
from support.zookeeper_under_test import Secured, ZooKeeperUnderTest
from zookeeper_kafka import ZooKeeper as ZooKeeperServer
from zookeeper_tls import TlsZooKeeper, make_authority, make_store

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.register_assert_rewrite("support.store_conformance", "support.session_conformance")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines, and end the sessions of `store` on the same loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names}

    async def run() -> None:
        try:
            await pyfuncitem.obj(**arguments)
        finally:
            if "store" in arguments:
                await arguments["store"].close()

    asyncio.run(run())
    return True


class Served(Struct, frozen=True):
    """A ZooKeeper: its address, and how it is reached by TLS if it is."""

    address: tuple[str, int]
    secured: Secured | None = None


OUR_PORT = pytest.mark.thorough("tests/wire/test_zookeeper_store.py")
BY_TLS = pytest.mark.thorough("test_tls.py has a session with TLS")


@pytest.fixture(
    scope="session",
    params=[
        "zookeeper",
        pytest.param("zookeeper by TLS", marks=BY_TLS),
        pytest.param("our port", marks=OUR_PORT),
    ],
)
def zookeeper(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A real one, the same with encrypted sessions, and ours."""
    with ExitStack() as undo:
        if request.param == "zookeeper":
            yield Served(("127.0.0.1", undo.enter_context(ZooKeeperServer()).port))
        elif request.param == "our port":
            yield Served(undo.enter_context(ZooKeeperBroker()).zookeeper)
        else:
            directory = tmp_path_factory.mktemp("certificates")
            authority = make_authority(directory, "authority")
            keystore = make_store(directory, "server", authority)
            server = undo.enter_context(TlsZooKeeper(keystore, authority, anonymous=True))
            serves = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            serves.load_cert_chain(keystore)
            asks = ssl.create_default_context(cafile=str(authority))
            tls = ZooKeeperTls(str(authority))
            yield Served(("127.0.0.1", server.port), Secured(server.secure_port, (serves, asks), tls))


@pytest.fixture
def store(zookeeper: Served) -> ZooKeeperUnderTest:
    return ZooKeeperUnderTest(zookeeper.address, zookeeper.secured)
