"""A real ZooKeeper and our own ZooKeeper port, and tests that are coroutines."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING

import pytest

from support.zookeeper_broker import ZooKeeperBroker
from support.zookeeper_under_test import ZooKeeperUnderTest
from zookeeper_kafka import ZooKeeper as ZooKeeperServer

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


@pytest.fixture(scope="session", params=["zookeeper", "our port"])
def zookeeper(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """The address of either."""
    if request.param == "zookeeper":
        with ZooKeeperServer() as server:
            yield "127.0.0.1", server.port
    else:
        with ZooKeeperBroker() as broker:
            yield broker.zookeeper


@pytest.fixture
def store(zookeeper: tuple[str, int]) -> ZooKeeperUnderTest:
    return ZooKeeperUnderTest(zookeeper)
