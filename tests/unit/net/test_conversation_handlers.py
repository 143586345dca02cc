"""Handlers that change, and what they do to their connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.net.answers import Answer, Mode, Waiting
from kcompat.net.limits import Limits
from kcompat.promise import Promise
from support.conversations import Script, conversation, iterations, virtually

if TYPE_CHECKING:
    from kcompat.net.answers import Connection


class Door(Script):
    """Lets the peer on to `script` when it says "enter"; until then a frame has at most 5 bytes."""

    max_frame: int | None = 5

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script

    def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
        if bytes(frame) == b"enter":
            connection.serve_with(self.script)
        return super().on_frame(connection, frame)


@pytest.mark.parametrize("step", [1, 3, 9, 1000])
@virtually
async def test_frames_behind_the_present_one_go_to_the_next_handler(step: int) -> None:
    script = Script()
    talk = conversation(Door(script))
    data = b"\0\0\0\5enter\0\0\0\6longer\0\0\0\3one"
    for start in range(0, len(data), step):
        assert talk.feed(data[start : start + step]) == b""
        await iterations()
    assert script.frames == [b"longer", b"one"]
    assert talk.sent == [b"<enter>", b"<longer>", b"<one>"]
    assert talk._hub.memory.used == 0


@virtually
async def test_a_handler_may_take_smaller_frames_only() -> None:
    script = Script()
    talk = conversation(Door(script))
    talk.feed(b"\0\0\0\6longer")
    await iterations()
    assert (talk.sent, talk.events, script.frames) == ([], ["hang up"], [])


@virtually
async def test_a_handler_may_take_no_frames_at_all() -> None:
    door = Door(Script())
    door.max_frame = 0
    talk = conversation(door)
    talk.feed(b"\0\0\0\1x")
    await iterations()
    assert (talk.sent, talk.events, door.frames) == ([], ["hang up"], [])


@virtually
async def test_no_memory_is_taken_for_a_frame_that_the_handler_does_not_take() -> None:
    talk = conversation(Door(Script()), Limits(max_frame=10**8))
    talk.feed(b"\5\0\0\0" + b"x" * 100)
    assert talk._hub.memory.used < 2**17


@virtually
async def test_a_handler_closes_behind_an_answer_that_comes_later() -> None:
    promise = Promise[Answer]()

    class Refusing(Script):
        def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
            self.frames.append(bytes(frame))
            connection.close_behind("refused")
            return Waiting(promise, Mode.PIPELINED)

    script = Refusing()
    talk = conversation(script)
    talk.feed(b"\0\0\0\3one\0\0\0\3two")
    assert talk.feed(b"more") == b"more"
    assert (script.frames, talk.events) == ([b"one"], [])
    promise.complete([b"no"])
    await iterations()
    assert (talk.sent, talk.events) == ([b"no"], ["hang up"])
    assert talk._hub.closed == {"refused": 1}
