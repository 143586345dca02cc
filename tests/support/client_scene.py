"""A client to another broker, and that broker, on a network in memory and on virtual time."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from kcompat.net.hub import Hub
from kcompat.peer.client import PeerClient, PeerSettings
from kcompat.peer.releases import release
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from support.outcomes import outcome_of
from support.scripted_broker import ScriptedBroker
from support.virtual_loop import VirtualLoopClock, run_virtually
from support.virtual_network import VirtualNetwork

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kcompat.promise import Promise
    from kcompat.protocol.api_keys import ApiKey
    from support.scripted_broker import Asked
    from support.virtual_loop import VirtualLoop

THERE = ("there", 9092)
SETTINGS = PeerSettings(release("3.9"), setup_timeout_ms=1000, setup_timeout_max_ms=4000, max_frame=2**20)


class Scene:
    """A client here, and a scripted broker there."""

    def __init__(
        self,
        loop: VirtualLoop,
        answer: Callable[[Asked], object],
        served: Mapping[ApiKey, range] | None,
        settings: PeerSettings,
    ) -> None:
        self.loop = loop
        self.told: list[str] = []
        self.network = VirtualNetwork(Random(1), self.told.append)
        self.broker = ScriptedBroker(answer, served)
        self.address: tuple[str, int] | None = THERE
        ports = (self.network.connector("here"), VirtualLoopClock(loop), Random(2))
        self.client = PeerClient("there", "broker-1", lambda: self.address, lambda: settings, ports)
        self.listen()

    def listen(self) -> None:
        """Let `broker` accept connections."""
        self.hub = Hub(self.loop)
        self.listener = self.network.bind("PLAINTEXT", *THERE)
        self.listener.start(self.hub, self.broker)

    def stop_listening(self) -> None:
        """Close the listener and its connections."""
        self.listener.close()
        self.hub.stop()

    async def beat(self, timeout_ms: float = 10_000) -> object:
        """Send a heartbeat; return the error code of its response, or the `PeerFault`."""
        answered: Promise[HeartbeatResponse] = self.client.call(HeartbeatRequest("group"), timeout_ms)
        return await outcome_of(answered.map(lambda response: response.error_code))

    def attempts(self) -> int:
        """Count the connections that came about."""
        return sum("is connected" in line for line in self.told)


def play(
    scene: Callable[[Scene], Awaitable[None]],
    answer: Callable[[Asked], object] = lambda _: HeartbeatResponse(error_code=7),
    served: Mapping[ApiKey, range] | None = None,
    settings: PeerSettings = SETTINGS,
) -> None:
    """Run `scene` on virtual time; `answer` and `served` are those of the `ScriptedBroker`."""

    async def program(loop: VirtualLoop) -> None:
        await scene(Scene(loop, answer, served, settings))

    run_virtually(program)
