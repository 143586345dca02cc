"""Conversations without a network: bytes are put in, pieces come out, time is virtual."""

from __future__ import annotations

import asyncio
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from kcompat.net.conversation import Conversation
from kcompat.net.hub import Hub
from kcompat.net.limits import Limits
from support.virtual_loop import run_virtually

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kcompat.net.answers import Answer, Connection, FrameHandler, Piece

P = ParamSpec("P")

PEER, HERE = ("10.0.0.7", 40000), ("10.0.0.1", 9092)
USUAL = Limits()


class Collected(Conversation):
    """A conversation whose transport is a list."""

    def __init__(self, hub: Hub, handler: FrameHandler) -> None:
        super().__init__(hub, handler, "PLAINTEXT", PEER, HERE)
        self.sent: list[Piece] = []
        self.events: list[str] = []

    def transmit(self, pieces: list[Piece]) -> None:
        self.sent += pieces

    def resume_reading(self) -> None:
        self.events.append("resume")

    def hang_up(self) -> None:
        self.events.append("hang up")

    def feed(self, data: bytes) -> bytes:
        """Give it bytes, as many as it takes; return the others."""
        while data and (room := self.room()) is not None:
            count = min(len(room), len(data))
            room[:count] = data[:count]
            data = data[count:]
            self.received(count)
        return data


class Script:
    """A handler that answers a frame with itself, or with the answer that `answers` has for it."""

    max_frame: int | None = None

    def __init__(self, **answers: Answer) -> None:
        self.answers = answers
        self.frames: list[bytes] = []

    def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
        self.frames.append(bytes(frame))
        answer = self.answers.get(bytes(frame).decode())
        return answer if answer is not None or frame[0] == ord("0") else [b"<" + bytes(frame) + b">"]

    def ends_wait(self, frame: memoryview) -> bool:
        return bytes(frame) != b"fetch"


def virtually(test: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """Run a test on a loop of its own, whose time is virtual."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        run_virtually(lambda _loop: test(*args, **kwargs))

    return run


def conversation(script: Script | None = None, limits: Limits = USUAL) -> Collected:
    """Return a conversation on the running loop."""
    hub = Hub(asyncio.get_running_loop(), limits)
    return Collected(hub, script or Script())


async def iterations(count: int = 3) -> None:
    """Let the loop iterate."""
    for _ in range(count):
        await asyncio.sleep(0)
