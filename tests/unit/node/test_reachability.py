"""Clients on other machines that are told the loopback address are named in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from kcompat.node.lifetime import Lifetime
from kcompat.node.listeners import ServedListener
from kcompat.node.reachability import gateway, warn_of_loopback
from kcompat.notices.notices import Notices
from kcompat.security.principals import ANONYMOUS, Principal
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from kcompat.net.interception import ConnectionObserver

EVERYWHERE = ServedListener("PLAINTEXT", "", 9092, ("localhost", 9092))


@dataclass
class Opened:
    """A connection that was accepted."""

    peer_host: str
    listener_name: str = "PLAINTEXT"
    peer_port: int = 40_000
    local_address: tuple[str, int] = ("10.0.0.1", 9092)
    principal: Principal = ANONYMOUS


def told(*served: ServedListener) -> tuple[list[ConnectionObserver], Lifetime]:
    observers: list[ConnectionObserver] = []
    lifetime = Lifetime()
    warn_of_loopback(served, Notices(VirtualClock()), observers, lifetime)
    return observers, lifetime


def test_a_client_on_another_machine_is_named(caplog: pytest.LogCaptureFixture) -> None:
    [observer], _ = told(EVERYWHERE)
    observer.opened(Opened("10.0.0.7"))
    observer.opened(Opened("10.0.0.7"))
    observer.closed(Opened("10.0.0.7"), "idle")
    observer.complained("10.0.0.7", "connection closed")
    [line] = caplog.messages
    assert line.startswith("10.0.0.7: the client connected to listener PLAINTEXT from another machine")
    assert "localhost:9092" in line


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "10.0.0.1", gateway() or "127.0.0.2"])
def test_a_client_that_may_be_on_this_machine_is_not(host: str, caplog: pytest.LogCaptureFixture) -> None:
    [observer], _ = told(EVERYWHERE)
    observer.opened(Opened(host))
    observer.opened(Opened("10.0.0.7", "INTERNAL"))
    assert not caplog.messages


@pytest.mark.parametrize(
    "served",
    [
        ServedListener("PLAINTEXT", "", 9092, None),
        ServedListener("PLAINTEXT", "", 9092, ("broker", 9092)),
        ServedListener("PLAINTEXT", "127.0.0.1", 9092, ("localhost", 9092)),
    ],
)
def test_nothing_looks_at_connections_where_no_client_can_be_misled(served: ServedListener) -> None:
    assert told(served)[0] == []


async def test_the_warning_ends_with_the_broker() -> None:
    observers, lifetime = told(EVERYWHERE)
    await lifetime.end()
    assert observers == []
