from __future__ import annotations

import pytest

from kcompat.instrumentation.records import Record
from kcompat.instrumentation.shown import LONGEST, MOST_LINES, line_of, lines_of, shown


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, "null"),
        (b"", "''"),
        (b"plain", "'plain'"),
        ("ä".encode(), "'ä'"),
        (b'{\n  "id": 1\n}', '{"id": 1}'),
        ('["ä"]'.encode(), '["ä"]'),
        (b"{no json", "'{no json'"),
        (b"5", "'5'"),
        (b"\x1b[31m", "0x1b5b33316d"),
        (b"two\nlines", r"'two\nlines'"),
        ((1).to_bytes(8, "big"), "0x0000000000000001"),
        ('{"a": "\u202e"}'.encode(), '\'{"a": "\\u202e"}\''),
        (b"\x00\xff", "0x00ff"),
        (b"[" * 100_000, "'" + "[" * (LONGEST - 1) + "... (100000 bytes)"),
    ],
)
def test_a_value_in_one_line(data: bytes | None, expected: str) -> None:
    assert shown(data) == expected


@pytest.mark.parametrize("data", [b"x" * 5000, b"\xff" * 5000, b"[" + b"1," * 5000 + b"1]"])
def test_a_long_value_is_cut_and_has_its_size(data: bytes) -> None:
    text = shown(data)
    assert text.endswith(f"... ({len(data)} bytes)")
    assert len(text) < LONGEST + 30


def record(offset: int = 7, **more: object) -> Record:
    return Record("orders", 0, offset, 1_577_836_800_123, "CreateTime", b"k", b"{}", **more)  # type: ignore[arg-type]


def test_a_line_has_place_key_value_headers_and_time() -> None:
    line = line_of(record(headers=(("trace", b"abc"), ("none", None))))
    assert line == (
        "orders-0@7  key 'k'  value {}  headers {'trace': 'abc', 'none': null}  2020-01-01T00:00:00.123Z"
    )


@pytest.mark.parametrize(("timestamp", "end"), [(-1, "value null"), (2**62, str(2**62))])
def test_times_that_no_calendar_has(timestamp: int, end: str) -> None:
    assert line_of(Record("t", 0, 0, timestamp, "CreateTime", None, None)).endswith(end)


def test_many_records_end_with_their_number() -> None:
    lines = lines_of([record(offset) for offset in range(MOST_LINES + 5)])
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "... and 5 more"
