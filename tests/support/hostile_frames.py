"""Frames no honest client sends: requests cut short, flipped, spliced, with lengths that lie, and other
protocols.

Everything comes from a `random.Random`, so a seed tells a run again. A valid request of any version comes
from its declaration; what its strings, bytes and numbers are, the caller chooses.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kcompat.protocol.api_keys import request_class
from kcompat.protocol.plan import plan_message
from support.raw_client import request_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from kcompat.protocol.plan import FieldPlan, StructPlan

    Chooser = Callable[[str, str], Any]

LENGTH_LIES = (
    *(struct.pack(">i", value) for value in (-(2**31), -2, -1, 2**16, 2**24, 2**27, 2**31 - 1)),
    *(struct.pack(">h", value) for value in (-(2**15), -2, -1, 2**15 - 1)),
    *map(
        bytes.fromhex,
        ("ffffffff07", "ffffffff0f", "ffffffffffffffffff01", "ffffffffffffffffffff", "80808001"),
    ),
)
"""Lengths and counts, classic and compact, that no frame of ours can hold, and varints that do not end."""

FOREIGN = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /topics HTTP/1.0\r\nContent-Length: 4\r\n\r\nabcd",
    bytes.fromhex("16030100c8010000c40303") + bytes(193),  # the start of a TLS ClientHello
    b"SSH-2.0-OpenSSH_9.7\r\n",
    b"*1\r\n$4\r\nPING\r\n",
    bytes.fromhex("0000000804d2162f"),  # a PostgreSQL SSLRequest, which is a whole frame of 8 bytes for us
    b"\x00" * 64,
    b"\xff" * 64,
)
"""First bytes that clients of other protocols send."""

FRAME_LENGTHS = (-(2**31), -1, 0, 1, 4, 7, 100 * 2**20, 100 * 2**20 + 1, 2**31 - 1)
"""Length prefixes: negative, shorter than any header, the largest Kafka allows, and over it."""


def valid_frame(key: int, version: int, choose: Chooser) -> bytes:
    """A request that decodes, its values from `choose(field name, kind)`; None there leaves the default."""
    return request_frame(_fill(plan_message(request_class(key), version), choose), version, correlation_id=1)


def _fill(plan: StructPlan, choose: Chooser) -> Any:
    return plan.cls(**{field.name: _value(field, choose) for field in plan.fields if field.present})


def _value(field: FieldPlan, choose: Chooser) -> Any:
    value = _fill(field.element, choose) if field.element is not None else choose(field.name, field.kind)
    if value is None:
        return field.default
    return [value] if field.array else value


def truncations(frame: bytes) -> Iterator[bytes]:
    """The request cut at every byte: as a whole shorter frame, and as a frame that never ends."""
    for size in range(4, len(frame)):
        yield struct.pack(">i", size - 4) + frame[4:size]
    for size in range(1, len(frame)):
        yield frame[:size]


def length_lies(frame: bytes, random: Random, count: int) -> Iterator[bytes]:
    """The request with a length that lies written over some place of it."""
    for _ in range(count):
        lie = random.choice(LENGTH_LIES)
        position = random.randrange(8, len(frame))
        yield _framed(frame[4:position] + lie + frame[position + len(lie) :])


def mutations(frame: bytes, random: Random, count: int) -> Iterator[bytes]:
    """The request with bits flipped, pieces cut out, doubled, moved or replaced."""
    for _ in range(count):
        body = bytearray(frame[4:])
        for _ in range(random.choice((1, 1, 2, 4, 16))):
            _mutate(body, random)
        yield _framed(bytes(body))


def _mutate(body: bytearray, random: Random) -> None:
    if not body:
        return
    start = random.randrange(len(body))
    piece = body[start : start + random.randrange(1, 9)]
    match random.randrange(5):
        case 0:
            body[start] ^= 1 << random.randrange(8)
        case 1:
            body[start] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        case 2:
            del body[start : start + len(piece)]
        case 3:
            body[start:start] = piece * random.randrange(1, 4)
        case _:
            body[start : start + len(piece)] = random.randbytes(len(piece))


def noise(random: Random, count: int) -> Iterator[bytes]:
    """Random bytes in a whole frame, half of them behind a plausible header; then impossible lengths."""
    for _ in range(count):
        body = random.randbytes(random.randrange(0, 200))
        if random.random() < 0.5:
            body = struct.pack(">hhih", random.randrange(-1, 95), random.randrange(-1, 18), 7, -1) + body
        yield _framed(body)
    for length in FRAME_LENGTHS:
        yield struct.pack(">i", length) + random.randbytes(16)


def _framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body
