"""Records as lines of text, for people."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.instrumentation.records import Record

LONGEST: Final = 200
"""Largest number of characters of a key, a value or the headers."""
MOST_LINES: Final = 20
"""Largest number of records that are shown."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters that text does not contain: data with one of them is shown as binary."""


def lines_of(records: Sequence[Record]) -> list[str]:
    """Return a line for each record; if there are too many, the last line has the number of the others."""
    shown = [line_of(each) for each in records[:MOST_LINES]]
    more = len(records) - MOST_LINES
    return [*shown, f"... and {more} more"] if more > 0 else shown


def line_of(record: Record) -> str:
    """Return partition and offset of a record, then key and value as JSON, text or hexadecimal digits, its
    headers and its time.
    """
    headers = ", ".join(f"{name!r}: {shown(value)}" for name, value in record.headers)
    parts = [
        f"{record.topic}-{record.partition}@{record.offset}",
        f"key {shown(record.key)}",
        f"value {shown(record.value)}",
        f"headers {{{headers[:LONGEST]}}}" if headers else "",
        _time(record.timestamp),
    ]
    return "  ".join(filter(None, parts))


def shown(data: bytes | None) -> str:
    """Return a key or a value in one line: a JSON object or array, text in quotation marks, or hexadecimal
    digits; a long value is cut, and its length is added.
    """
    if data is None:
        return "null"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = None
    if text is None or _CONTROL.search(text):
        return _cut(f"0x{data[:LONGEST].hex()}", len(data))
    return _cut(_as_json(text) or repr(text), len(data))


def _as_json(text: str) -> str | None:
    """Return a JSON object or array without line breaks; None for other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        line = json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return line if line.isprintable() else None


def _cut(text: str, size: int) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({size} bytes)"


def _time(timestamp: int) -> str:
    """Return a time in ms since 1970 in ISO 8601, empty if there is none."""
    if timestamp < 0:
        return ""
    try:
        moment = datetime.fromtimestamp(timestamp / 1000, UTC)
    except (ValueError, OverflowError):
        return str(timestamp)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
