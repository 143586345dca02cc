"""Broker 1, whose transactions have to do with broker 2, over a network in memory."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kcompat.cluster.image import BrokerInfo, PartitionInfo, TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.net.hub import Hub
from kcompat.peer.peers import Peers
from kcompat.topics import TRANSACTION_STATE
from support.scripted_broker import ScriptedBroker
from support.virtual_loop import VirtualLoopClock, run_virtually
from support.virtual_network import VirtualNetwork

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kcompat.promise import Promise
    from support.scripted_broker import Asked
    from support.virtual_loop import VirtualLoop

HERE, THERE = 1, 2
PARTITIONS = 3


class Scene:
    """`leader` leads all partitions of `__transaction_state`; of topic t broker 1 leads 0, broker 2 leads 1,
    and of 2 the leader is gone.
    """

    def __init__(self, loop: VirtualLoop, answer: Callable[[Asked], Any], served: Any) -> None:
        self.loop = loop
        network = VirtualNetwork(Random(1), lambda _: None)
        self.cluster = MetadataCache("the-cluster")
        self.config = ConfigFeed(BrokerConfig())
        self.clock = VirtualLoopClock(loop)
        ports = (network.connector("broker-1"), self.clock, Random(2))
        self.peers = Peers(HERE, self.config, self.cluster, ports)
        self.other = ScriptedBroker(answer, served)
        self._listener = network.bind("PLAINTEXT", "broker-2", 9092)
        self._listener.start(Hub(loop), self.other)
        self.show(leader=THERE)

    def show(self, *, leader: int) -> None:
        """Make this broker the leader of all partitions of `__transaction_state`."""

        def led_by(broker_id: int) -> PartitionInfo:
            return PartitionInfo(broker_id, 0, (broker_id,), (broker_id,))

        states = TopicImage(TRANSACTION_STATE, b"s" * 16, dict.fromkeys(range(PARTITIONS), led_by(leader)))
        topic = TopicImage("t", b"t" * 16, {0: led_by(HERE), 1: led_by(THERE), 2: led_by(9)})
        brokers = {
            number: BrokerInfo(number, None, {"PLAINTEXT": (f"broker-{number}", 9092)})
            for number in (HERE, THERE)
        }
        image = replace(self.cluster.image, brokers=brokers).with_topics([states, topic])
        self.cluster.update(image)

    async def pause(self) -> None:
        """Let a millisecond go by."""
        await asyncio.sleep(0.001)

    async def outcome(self, promise: Promise[Any]) -> Any:
        """Wait for a promise, and return its value or raise its exception."""
        future: asyncio.Future[Any] = self.loop.create_future()
        promise.then(future.set_result, future.set_exception)
        return await future


def play(
    scene: Callable[[Scene], Awaitable[None]], answer: Callable[[Asked], Any], served: Any = None
) -> None:
    """`answer` is what broker 2 says."""

    async def program(loop: VirtualLoop) -> None:
        await scene(Scene(loop, answer, served))

    run_virtually(program)
