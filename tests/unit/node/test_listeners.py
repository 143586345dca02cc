"""The addresses of listeners that a broker registers in the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from kcompat.config.broker import BrokerConfig
from kcompat.node.cluster import BorrowedStore
from kcompat.node.listeners import host_for_all, open_doors, open_listeners, registration_of
from kcompat.store.process_store import ProcessStore
from support.disk import Disk
from support.lone_broker import HOST_NAME, BrokerFixture, ListedTransactions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kcompat.clock import Clock
    from kcompat.net.answers import FrameHandler
    from kcompat.net.hub import Hub
    from kcompat.node.environment import Environment
    from support.disk import DiskOperation

TWO = {
    "listeners": "IN://:9092,OUT://10.0.0.1:9093",
    "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT",
    "inter.broker.listener.name": "IN",
}


class Bound:
    """A listener on an address in numbers, as a socket has it."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.host = "10.0.0.1"
        self.port = port

    def start(self, hub: Hub, handler: FrameHandler) -> None:
        raise AssertionError("nobody connects")

    def pause(self) -> None:
        raise AssertionError("nobody has connected")

    def close(self) -> None:
        raise AssertionError("nobody opened it")


def told(settings: Mapping[str, str], host: str) -> dict[str, tuple[str, int]]:
    """The endpoints that are registered, of listeners bound to the ports from 5000 on."""
    config = BrokerConfig(settings)
    listeners = [Bound(each.name, 5000 + number) for number, each in enumerate(config.listeners)]
    return dict(registration_of(config, listeners, host).endpoints)


@pytest.mark.parametrize(("settings", "backlog"), [({}, 4096), ({"socket.listen.backlog.size": "50"}, 50)])
def test_as_many_may_wait_to_be_accepted_as_is_set(settings: Mapping[str, str], backlog: int) -> None:
    bound: list[int] = []

    def bind(name: str, host: str, port: int, *, backlog: int = 50, **_: object) -> Bound:
        bound.append(backlog)
        return Bound(name, port)

    list(open_listeners(bind, BrokerConfig(settings), {}))
    assert bound == [backlog]


@pytest.mark.parametrize(
    ("settings", "endpoints"),
    [
        ({"listeners": "PLAINTEXT://:9092"}, {"PLAINTEXT": ("all", 9092)}),
        ({"listeners": "PLAINTEXT://0.0.0.0:9092"}, {"PLAINTEXT": ("all", 9092)}),
        ({"listeners": "PLAINTEXT://[::]:0"}, {"PLAINTEXT": ("all", 5000)}),
        ({"listeners": "PLAINTEXT://b.example.com:9092"}, {"PLAINTEXT": ("b.example.com", 9092)}),
        ({"listeners": "PLAINTEXT://b.example.com:0"}, {"PLAINTEXT": ("b.example.com", 5000)}),
        (
            {"listeners": "PLAINTEXT://:9092", "advertised.listeners": "PLAINTEXT://outside:0"},
            {"PLAINTEXT": ("outside", 5000)},
        ),
        (
            {"listeners": "PLAINTEXT://b:9092", "advertised.listeners": "PLAINTEXT://:19092"},
            {"PLAINTEXT": ("all", 19092)},
        ),
        (TWO, {"IN": ("all", 9092), "OUT": ("10.0.0.1", 9093)}),
    ],
)
def test_hosts_are_told_as_they_are_configured(
    settings: dict[str, str], endpoints: dict[str, tuple[str, int]]
) -> None:
    assert told(settings, "all") == endpoints


@pytest.mark.parametrize(
    ("settings", "is_alone", "is_asked"),
    [
        ({"listeners": "PLAINTEXT://:9092"}, False, True),
        ({"listeners": "PLAINTEXT://:9092"}, True, False),
        ({"listeners": "PLAINTEXT://b:9092"}, False, False),
        ({"listeners": "PLAINTEXT://:9092", "advertised.listeners": "PLAINTEXT://b:9092"}, False, False),
        ({"listeners": "PLAINTEXT://b:9092", "advertised.listeners": "PLAINTEXT://:9092"}, False, True),
        (TWO, False, True),
    ],
)
async def test_the_name_of_the_host_is_asked_for_only_where_it_is_told(
    settings: dict[str, str], is_alone: bool, is_asked: bool
) -> None:
    asked = []

    async def host_name() -> str:
        asked.append(1)
        return HOST_NAME

    host = await host_for_all(BrokerConfig(settings), host_name, is_alone=is_alone)
    assert (bool(asked), host) == (is_asked, HOST_NAME if is_asked else "localhost")


def _as_it_is(environment: Environment) -> Environment:
    return environment


def _store_elsewhere(environment: Environment) -> Environment:
    def open_store(config: BrokerConfig, clock: Clock) -> BorrowedStore:
        transactions: list[DiskOperation] = []
        store = ProcessStore(ListedTransactions(Disk(transactions), transactions), clock.now_ms)
        return BorrowedStore(store, clock)

    return structs.replace(environment, open_store=open_store)


@pytest.mark.parametrize(("is_alone", "host"), [(True, "localhost"), (False, HOST_NAME)])
async def test_a_broker_is_registered_by_the_name_of_its_host_unless_it_is_alone(
    tmp_path: Path, is_alone: bool, host: str
) -> None:
    settings = {"listeners": "PLAINTEXT://:9092"}
    fixture = BrokerFixture(
        tmp_path, settings, Disk([]), [], 0, wrap=_as_it_is if is_alone else _store_elsewhere
    )
    await fixture.start()
    assert fixture.cluster.image.brokers[1].endpoints == {"PLAINTEXT": (host, 9092)}
    await fixture.stop()


@pytest.mark.parametrize(
    ("listener", "settings", "is_open"),
    [
        ("PLAINTEXT://:9092", {}, True),
        ("PLAINTEXT://0.0.0.0:9092", {}, True),
        ("PLAINTEXT://[::]:9092", {}, True),
        ("PLAINTEXT://10.0.0.1:9092", {}, True),
        ("PLAINTEXT://broker:9092", {}, True),
        ("PLAINTEXT://localhost:9092", {}, False),
        ("PLAINTEXT://127.0.0.2:9092", {}, False),
        ("PLAINTEXT://[::1]:9092", {}, False),
        ("SASL_PLAINTEXT://:9092", {}, False),
        ("SASL_SSL://:9092", {}, False),
        ("SSL://:9092", {}, True),
        ("SSL://:9092", {"ssl.client.auth": "requested"}, True),
        ("SSL://:9092", {"ssl.client.auth": "required"}, False),
        ("SSL://:9092", {"listener.name.ssl.ssl.client.auth": "required"}, False),
    ],
)
def test_a_listener_that_others_reach_without_a_login_is_an_open_door(
    listener: str, settings: dict[str, str], is_open: bool
) -> None:
    config = BrokerConfig({"listeners": listener, **settings})
    assert [str(endpoint) for endpoint in open_doors(config)] == [listener] * is_open
