"""Sockets bound to an address, and ports that are held for listeners."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from kcompat import capabilities
from kcompat.net.listener import ListenerError
from kcompat.net.sockets import HeldPort, bound

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"


@pytest.fixture
def held() -> Iterator[HeldPort]:
    port = HeldPort(HOST)
    yield port
    port.release()


def test_listeners_come_and_go_on_a_held_port(held: HeldPort) -> None:
    for _ in range(2):
        with bound(HOST, held.port) as listener:
            listener.listen()
            with socket.create_connection((HOST, held.port)):
                pass


@pytest.mark.skipif(not capabilities.LINUX, reason="only Linux binds two sockets to one port")
def test_the_system_gives_a_held_port_to_nobody_else(held: HeldPort) -> None:
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((HOST, held.port))


def test_nobody_is_heard_on_a_port_that_is_only_held(held: HeldPort) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, held.port))


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(ListenerError, match=r"Cannot listen on 192\.0\.2\.1"):
        HeldPort("192.0.2.1")


@pytest.mark.parametrize("host", ["a..b", f"{'x' * 64}.com"])
def test_a_text_that_is_no_host_name_is_refused_in_a_sentence(host: str) -> None:
    with pytest.raises(ListenerError, match="that is not the name of a host"):
        HeldPort(host)
