"""Frames as they come in: cut anywhere, big and small."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

import pytest

from kcompat.net.frame_reader import BUFFER_STEP, SPARED_FRAMES, BadFrameError, FrameReader
from support.raw_peer import framed

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

SCRATCH = 100
MAX_FRAME = 5000


def reader() -> FrameReader:
    return FrameReader(memoryview(bytearray(SCRATCH)), MAX_FRAME)


def feed(frames: FrameReader, data: bytes, piece: Callable[[], int]) -> list[memoryview]:
    """Let `data` come in pieces of at most `piece()` bytes; the frames that were whole, in order."""
    return feed_and_take(frames, data, piece, lambda frame: frame)


def feed_and_take(
    frames: FrameReader, data: bytes, piece: Callable[[], int], take: Callable[[memoryview], T]
) -> list[T]:
    """Feed as `feed` does; return what `take` makes of each whole frame."""
    found: list[T] = []
    while data:
        count = receive(frames.room(), data[: piece()])
        data = data[count:]
        found += map(take, frames.received(count))
    return found


def receive(room: memoryview, data: bytes) -> int:
    """As a socket does; the view of the room ends with it."""
    count = min(len(room), len(data))
    room[:count] = data[:count]
    return count


@pytest.mark.parametrize("seed", range(50))
def test_frames_are_the_same_however_they_are_cut(seed: int) -> None:
    chosen = random.Random(seed)
    bodies = [chosen.randbytes(chosen.choice([1, 3, 50, 96, 97, 100, 101, 1000, 5000])) for _ in range(20)]
    longest = chosen.choice([1, 3, 30, 100, 10_000])
    data = b"".join(map(framed, bodies))
    pieces = [chosen.randint(1, longest) for _ in range(len(data))]
    assert [bytes(frame) for frame in feed(reader(), data, iter(pieces).__next__)] == bodies
    assert feed_and_take(reader(), data, iter(pieces).__next__, bytes) == bodies, "buffers are used again"


@pytest.mark.parametrize("length", [0, -1, -(2**31), MAX_FRAME + 1, 2**31 - 1])
def test_a_length_that_is_not_allowed_is_refused(length: int) -> None:
    with pytest.raises(BadFrameError):
        feed(reader(), length.to_bytes(4, "big", signed=True), lambda: 4)


def test_a_frame_stays_as_it_is_while_somebody_holds_a_view_of_it() -> None:
    frames = reader()
    bodies = [bytes([number]) * 1000 for number in range(5)]
    held = [feed(frames, framed(body), lambda: 1000)[0][10:] for body in bodies]
    assert [bytes(view) for view in held] == [body[10:] for body in bodies]


def test_the_buffer_of_a_big_frame_is_used_again_when_nobody_looks_at_it() -> None:
    frames = reader()
    first = feed(frames, framed(b"a" * 2000), lambda: 2000)[0]
    buffer = first.obj
    del first
    second = feed(frames, framed(b"b" * 1500), lambda: 2000)[0]
    assert second.obj is buffer
    assert bytes(second) == b"b" * 1500


def test_one_big_frame_after_another_is_received_where_it_stays_with_one_call() -> None:
    frames = reader()
    feed_and_take(frames, framed(b"a" * 2000), lambda: 2000, len)
    for size in (2000, 1000, 3000, 2000):
        data = framed(b"b" * size) + framed(b"small")
        room = frames.room()
        assert len(room) >= len(data)
        buffer = room.obj
        receive(room, data)
        del room
        big, small = frames.received(len(data))
        assert big.obj is buffer
        assert small.obj is not buffer
        assert (bytes(big), bytes(small)) == (b"b" * size, b"small")
        del big


def test_a_frame_that_is_bigger_than_all_before_is_received_whole() -> None:
    frames = FrameReader(memoryview(bytearray(SCRATCH)), 10 * BUFFER_STEP)
    for size in (2000, BUFFER_STEP - 3, 3 * BUFFER_STEP, 9 * BUFFER_STEP):
        assert feed_and_take(frames, framed(b"a" * size), lambda: 10_000_000, bytes) == [b"a" * size]


def test_a_buffer_that_is_of_no_use_for_long_is_let_go() -> None:
    frames = reader()
    buffer = feed(frames, framed(b"a" * 2000), lambda: 2000)[0].obj
    feed(frames, framed(b"small") * (SPARED_FRAMES + 1), lambda: 50)
    assert feed(frames, framed(b"b" * 1500), lambda: 2000)[0].obj is not buffer


def test_frames_can_be_changed_by_who_has_them() -> None:
    small, big = feed(reader(), framed(b"small") + framed(b"b" * 2000), lambda: 2000)
    small[0] = big[0] = 0
    assert bytes(small) == b"\0mall"
    assert bytes(big[:2]) == b"\0b"
