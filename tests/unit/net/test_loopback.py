"""A listener at `localhost` is at both loopback addresses."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from kcompat.net.listener import ListenerError
from kcompat.net.loopback import ATTEMPTS, IPV4, IPV6, bind_localhost, has_ipv6_loopback
from kcompat.net.plain_listener import bind
from support.eventually import limit_s

if TYPE_CHECKING:
    from kcompat.net.listener import BoundListener

needs_ipv6 = pytest.mark.skipif(not has_ipv6_loopback(), reason="no IPv6 here")


def accepts(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=limit_s(10)):
            return True
    except ConnectionRefusedError:
        return False


@needs_ipv6
def test_both_addresses_accept_at_one_port_until_it_is_closed() -> None:
    listener = bind("PLAINTEXT", "localhost", 0)
    assert (listener.name, listener.host) == ("PLAINTEXT", "localhost")
    assert accepts(IPV4, listener.port)
    assert accepts(IPV6, listener.port)
    listener.close()
    assert not accepts(IPV4, listener.port)
    assert not accepts(IPV6, listener.port)


@needs_ipv6
@pytest.mark.parametrize(("taken", "other"), [(IPV4, IPV6), (IPV6, IPV4)])
def test_a_port_that_is_taken_at_one_address_is_refused(taken: str, other: str) -> None:
    holder = bind("PLAINTEXT", taken, 0)
    try:
        with pytest.raises(ListenerError, match="the port is already in use"):
            bind("PLAINTEXT", "localhost", holder.port)
        assert not accepts(other, holder.port), "nothing is left bound"
    finally:
        holder.close()


class Refusing:
    """Binds for real at IPv4, and refuses the first ports at IPv6."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals

    def __call__(self, host: str, port: int) -> BoundListener:
        if host == IPV6 and self.refusals:
            self.refusals -= 1
            raise ListenerError("the port is already in use")
        return bind("PLAINTEXT", host, port)


@needs_ipv6
def test_a_port_of_the_systems_choice_is_free_at_both() -> None:
    listener = bind_localhost(0, Refusing(ATTEMPTS - 1))
    assert accepts(IPV6, listener.port)
    listener.close()
    with pytest.raises(ListenerError):
        bind_localhost(0, Refusing(ATTEMPTS))
