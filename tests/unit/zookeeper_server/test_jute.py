from __future__ import annotations

import pytest

from kcompat.zookeeper_server.jute import Int, JuteReader, JuteRecord, Long, MalformedError, frame


class Pair(JuteRecord, frozen=True):
    name: str
    size: Long


class Everything(JuteRecord, frozen=True):
    number: Int
    flag: bool
    data: bytes | None
    pairs: tuple[Pair, ...]
    texts: tuple[str, ...]


VALUE = Everything(-2, True, b"ab", (Pair("ä", 1 << 40),), ("", "x"))
BYTES = bytes.fromhex(
    "fffffffe 01 00000002 6162 00000001 00000002 c3a4 0000010000000000 00000002 00000000 00000001 78"
)


def test_fields_lie_one_after_another() -> None:
    assert VALUE.encode() == BYTES
    assert Everything.decode(JuteReader(BYTES)) == VALUE
    assert frame(Pair("a", 0), Pair("", 1)) == bytes.fromhex("00000019 00000001 61") + bytes(8) + bytes(4) + (
        1
    ).to_bytes(8, "big")


def test_no_bytes_are_none_and_no_list_is_an_empty_one() -> None:
    class Nullable(JuteRecord, frozen=True):
        data: bytes | None
        text: str | None
        texts: tuple[str, ...]

    assert Nullable.decode(JuteReader(b"\xff" * 12)) == Nullable(None, None, ())
    assert Nullable(None, None, ()).encode() == b"\xff" * 8 + b"\0\0\0\0"
    with pytest.raises(MalformedError):
        Pair.decode(JuteReader(b"\xff" * 12))


@pytest.mark.parametrize("end", range(len(BYTES)))
def test_what_is_cut_short_is_refused(end: int) -> None:
    with pytest.raises(MalformedError):
        Everything.decode(JuteReader(BYTES[:end]))


@pytest.mark.parametrize("count", [-2, 5, 0x7FFFFFFF, -(1 << 31)])
def test_counts_beyond_what_is_there_are_refused_before_anything_is_made(count: int) -> None:
    announced = count.to_bytes(4, "big", signed=True)
    for field in (str, tuple[str, ...]):
        record = type("R", (JuteRecord,), {"__annotations__": {"field": field}}, frozen=True)
        assert issubclass(record, JuteRecord)
        with pytest.raises(MalformedError):
            record.decode(JuteReader(announced + b"abcd"))


def test_a_list_takes_at_least_the_bytes_of_its_elements() -> None:
    many = (1000).to_bytes(4, "big") + bytes(3999)
    with pytest.raises(MalformedError):
        JuteReader(many).count(4)
    assert JuteReader(many + b"\0").count(4) == 1000


def test_what_is_no_utf_8_is_replaced() -> None:
    assert Pair.decode(JuteReader(b"\0\0\0\1\xff" + bytes(8))).name == "\ufffd"
