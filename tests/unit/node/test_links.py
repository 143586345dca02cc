from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.net.outbound import Ending
from kcompat.node.links import Links
from support.heard import Heard
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ssl import SSLContext

    from kcompat.net.outbound import Receiver


class Wire:
    """A connection that notes what is done to it."""

    def __init__(self, address: tuple[str, int], receiver: Receiver) -> None:
        self.address = address
        self.receiver = receiver
        self.sent: list[bytes] = []
        self.is_closed = False

    def send(self, pieces: Sequence[bytes | bytearray | memoryview]) -> None:
        self.sent.append(b"".join(pieces))

    def close(self) -> None:
        self.is_closed = True


class Network:
    """Two brokers, 1 at port 9001 and 2 at port 9002, and what they connect by."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.wires: list[Wire] = []
        self.links = Links(self._connect, self.clock)
        self.links.listens(1, 9001)
        self.links.listens(2, 9002)

    def _connect(
        self,
        address: tuple[str, int],
        receiver: Receiver,
        *,
        timeout_ms: float,
        max_frame: int,
        receive_buffer: int = -1,
        tls: SSLContext | None = None,
    ) -> Wire:
        self.wires.append(Wire(address, receiver))
        return self.wires[-1]


@pytest.fixture
def network() -> Network:
    return Network()


def connect(network: Network, source: int, port: int, heard: Heard) -> object:
    return network.links.of(source)(("localhost", port), heard, timeout_ms=100, max_frame=1000)


def test_what_is_not_cut_passes_through(network: Network) -> None:
    heard = Heard()
    link = network.links.of(1)(("localhost", 9002), heard, timeout_ms=100, max_frame=1000)
    wire = network.wires[0]
    wire.receiver.connected()
    link.send([b"ab", b"c"])
    wire.receiver.received(memoryview(b"answer"))
    wire.receiver.ended(Ending.RESET)
    assert (wire.address, wire.sent) == (("localhost", 9002), [b"abc"])
    assert heard.events == ["connected", b"answer", Ending.RESET]


@pytest.mark.parametrize("isolated", [1, 2])
def test_a_cut_holds_what_is_sent_both_ways_until_it_is_healed(network: Network, isolated: int) -> None:
    heard = Heard()
    link = network.links.of(1)(("localhost", 9002), heard, timeout_ms=100, max_frame=1000)
    wire = network.wires[0]
    network.links.isolate(isolated)
    buffer = bytearray(b"first")
    link.send([buffer])
    buffer[:] = b"reuse"
    wire.receiver.received(memoryview(b"answer"))
    wire.receiver.ended(Ending.CLOSED)
    assert (wire.sent, heard.events) == ([], [])
    network.links.heal()
    assert (wire.sent, heard.events) == ([b"first"], [b"answer", Ending.CLOSED])


def test_no_connection_is_made_across_a_cut(network: Network) -> None:
    network.links.isolate(2)
    heard = Heard()
    connect(network, 1, 9002, heard)
    network.clock.advance(99)
    assert (network.wires, heard.events) == ([], [])
    network.clock.advance(1)
    assert heard.events == [Ending.TIMED_OUT]


def test_a_connection_that_was_given_up_is_silent(network: Network) -> None:
    network.links.isolate(2)
    heard = Heard()
    link = network.links.of(1)(("localhost", 9002), heard, timeout_ms=100, max_frame=1000)
    link.close()
    network.clock.advance(1000)
    network.links.heal()
    assert heard.events == []


def test_an_isolated_broker_reaches_itself_and_the_others_each_other(network: Network) -> None:
    network.links.listens(3, 9003)
    network.links.isolate(2)
    connect(network, 2, 9002, Heard())
    connect(network, 1, 9003, Heard())
    assert len(network.wires) == 2
