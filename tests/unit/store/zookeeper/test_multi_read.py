"""The bytes of a request that reads many nodes, and of its answer."""

from __future__ import annotations

import struct

from kazoo.exceptions import NoAuthError

from kcompat.store.zookeeper.multi_read import MultiRead

STAT = tuple(range(1, 12))


def found(data: bytes) -> bytes:
    payload = struct.pack(">i", len(data)) + data if data else struct.pack(">i", -1)
    return struct.pack(">iBi", 4, 0, 0) + payload + struct.pack(">qqqqiiiqiiq", *STAT)


def failed(code: int) -> bytes:
    return struct.pack(">iBi", -1, 0, code) + struct.pack(">i", code)


LAST = struct.pack(">iBi", -1, 1, -1)


def test_a_request() -> None:
    header = struct.pack(">iBi", 4, 0, -1)
    body = MultiRead(["/a", "/bc"]).serialize()
    assert bytes(body) == (
        header + struct.pack(">i2sB", 2, b"/a", 0) + header + struct.pack(">i3sB", 3, b"/bc", 0) + LAST
    )


def test_an_answer() -> None:
    data = b"head" + found(b"x") + failed(-101) + failed(-102) + found(b"") + LAST
    first, absent, denied, empty = MultiRead.deserialize(data, 4)
    assert first[0] == b"x"
    assert tuple(first[1]) == STAT
    assert absent is None
    assert isinstance(denied, NoAuthError)
    assert empty[0] is None


def test_an_answer_to_nothing() -> None:
    assert MultiRead.deserialize(LAST, 0) == []
