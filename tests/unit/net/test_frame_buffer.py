"""Half-received frames grow with what arrived, and big buffers come back."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from kcompat.net.frame_buffer import (
    STEP,
    BufferPool,
    FrameBuffer,
    cause_of_length,
    unpack_length,
    whole_size,
)
from kcompat.net.sizes import GRAIN, PREFIX
from kcompat.notices.causes import FOREIGN_FRAME, HTTP, TLS_ON_PLAIN_PORT

if TYPE_CHECKING:
    from kcompat.notices.cause import Cause

MAX_FRAME = 1000


def held(content: bytes, capacity: int | None = None, lead: int = 0) -> FrameBuffer:
    data = bytearray(capacity if capacity is not None else lead + len(content))
    return FrameBuffer(data, memoryview(content), MAX_FRAME, lead)


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (b"", PREFIX),
        (b"\0\0\0", PREFIX),
        (struct.pack(">i", 7), 11),
        (struct.pack(">i", 1000), 1004),
        (struct.pack(">i", 1001), PREFIX),
        (struct.pack(">i", 0), PREFIX),
        (struct.pack(">i", -5), PREFIX),
    ],
)
def test_whole_size_believes_only_legal_lengths(content: bytes, size: int) -> None:
    assert whole_size(bytearray(content), 0, len(content), MAX_FRAME) == size


@pytest.mark.parametrize(
    ("content", "has_frame"),
    [
        (b"\0\0\0", False),
        (struct.pack(">i", 2), False),
        (struct.pack(">i", 2) + b"a", False),
        (struct.pack(">i", 2) + b"ab", True),
        (struct.pack(">i", -1), True),  # to be handed on, and refused there
    ],
)
def test_has_frame(content: bytes, has_frame: bool) -> None:
    assert held(content).has_frame is has_frame


def test_first_frame() -> None:
    assert bytes(held(struct.pack(">ih", 2, 18) + b"next").first_frame()) == b"\0\x12"
    assert bytes(held(struct.pack(">i", -1) + b"x").first_frame()) == b""


def test_room_is_the_rest_of_the_first_frame() -> None:
    buffer = held(struct.pack(">i", 100) + b"abc", capacity=200)
    assert len(buffer.room(read_ahead=64)) == 97


def test_room_behind_a_whole_frame_is_the_read_ahead() -> None:
    buffer = held(struct.pack(">i", 2) + b"ab", capacity=200)
    assert len(buffer.room(read_ahead=64)) == 64


@pytest.mark.parametrize("lead", [0, 7])
def test_room_moves_the_bytes_down_before_asking_for_more(lead: int) -> None:
    buffer = held(b"x" * 50 + struct.pack(">i", 60) + b"abcdef", lead=lead)
    buffer.start += 50
    assert len(buffer.room(read_ahead=64)) == 50
    assert bytes(buffer.data[lead : buffer.end]) == struct.pack(">i", 60) + b"abcdef"


@pytest.mark.parametrize("lead", [0, GRAIN - 1])
def test_a_full_buffer_has_no_room_and_moves_to_a_bigger_one(lead: int) -> None:
    content = struct.pack(">i", 500) + bytes(range(96))
    buffer = held(content, lead=lead)
    assert len(buffer.room(read_ahead=64)) == 0
    assert buffer.wanted(read_ahead=64) == 504 + GRAIN
    old = buffer.move_to(bytearray(504 + GRAIN))
    assert len(old) == lead + 100
    assert (buffer.size, len(buffer.room(read_ahead=64))) == (100, 404)
    assert bytes(buffer.data[lead : buffer.end]) == content


def taken(pool: BufferPool, size: int) -> bytearray:
    buffer = pool.take(size)
    assert buffer is not None
    return buffer


def test_pool_gives_the_smallest_that_fits() -> None:
    pool = BufferPool()
    for size in (4 * STEP, 2 * STEP, 8 * STEP):
        pool.give(bytearray(size))
    assert len(taken(pool, STEP + 1)) == 2 * STEP
    assert len(taken(pool, 3 * STEP)) == 4 * STEP
    assert pool.take(9 * STEP) is None
    assert pool.free_bytes == 8 * STEP


def test_pool_has_a_limit_and_keeps_nothing_small() -> None:
    pool = BufferPool(limit=5 * STEP)
    for size in (STEP, 3 * STEP, 3 * STEP, 6 * STEP):
        pool.give(bytearray(size))
    assert pool.free_bytes == 3 * STEP


def test_pool_gives_memory_back_when_it_is_not_used() -> None:
    pool = BufferPool()
    pool.give(bytearray(2 * STEP))
    pool.trim()  # was given just now
    pool.give(taken(pool, 1))
    pool.trim()  # was in use
    assert pool.free_bytes == 2 * STEP
    pool.trim()
    assert pool.free_bytes == 0
    pool.trim()


@pytest.mark.parametrize(
    ("begin", "cause"),
    [
        (b"\x16\x03\x01\x02", TLS_ON_PLAIN_PORT),
        (b"GET /", HTTP),
        (b"PRI * HTTP/2.0", HTTP),
        (b"CONNECT a:1", HTTP),
        (b"\0\0\x03\xe9", FOREIGN_FRAME),
        (b"\xff\xff\xff\xff", FOREIGN_FRAME),
    ],
)
def test_a_length_that_is_not_allowed_shows_what_the_peer_speaks(begin: bytes, cause: Cause) -> None:
    assert cause_of_length(unpack_length(begin, 0)[0]) is cause
