"""Records that a program adds to a topic, and their form in the log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from kcompat.errors import UsageError

Content: TypeAlias = "str | bytes | dict[str, Any] | list[Any] | None"
"""A key or a value: text is written as UTF-8, a dict or list as JSON, None as null."""
Headers: TypeAlias = "Mapping[str, str | bytes | None] | Iterable[tuple[str, str | bytes | None]]"
"""Headers by name, or (name, value) pairs in order; text is written as UTF-8."""

_MAX_TIMESTAMP: Final = 2**63 - 1


class NewRecord(msgspec.Struct, frozen=True):
    """A record to add to a topic."""

    value: Content
    key: Content = None
    headers: Headers | None = None
    partition: int | None = None
    """Partition to append to. By default it depends on the key; without a key it is the partition with the
    fewest records."""
    timestamp: int | datetime | None = None
    """Time in milliseconds since 1970, or a `datetime`, which without a time zone is local time; by default
    the current time.
    """


class AddedRecord(msgspec.Struct, frozen=True):
    """The place of a record that was added."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Time in ms since 1970, which the broker sets if `message.timestamp.type` is `LogAppendTime`."""


class PreparedRecord(msgspec.Struct, frozen=True):
    """A record in the form of the log; `partition` and `timestamp` are None until they are chosen."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    partition: int | None
    timestamp: int | None


def all_prepared(records: Iterable[NewRecord | tuple[Content, Content] | Content]) -> list[PreparedRecord]:
    """Return several records in the form of the log.

    Raises:
        UsageError: a part of a record is of another type, or `records` are one record.
    """
    if isinstance(records, (str, bytes, bytearray, memoryview, Mapping, NewRecord)) or not isinstance(
        records, Iterable
    ):
        raise UsageError(f"records={records!r} are no records: use a list, also for one record")
    return [prepared(each) for each in records]


def prepared(record: NewRecord | tuple[Content, Content] | Content) -> PreparedRecord:
    """Return a record in the form of the log. A tuple is (key, value), and anything else a value.

    Raises:
        UsageError: a part of the record is of another type.
    """
    if isinstance(record, tuple):
        if len(record) != 2:
            raise UsageError(f"{record!r} is no record: use a value, (key, value), or a NewRecord")
        record = NewRecord(record[1], record[0])
    elif not isinstance(record, NewRecord):
        record = NewRecord(record)
    partition = record.partition
    if partition is not None and (isinstance(partition, bool) or not isinstance(partition, int)):
        raise UsageError(f"partition={partition!r} is no number of a partition")
    return PreparedRecord(
        _content("key", record.key),
        _content("value", record.value),
        () if record.headers is None else _headers(record.headers),
        partition,
        None if record.timestamp is None else _milliseconds(record.timestamp),
    )


def _content(what: str, given: object) -> bytes | None:
    match given:
        case None:
            return None
        case bytes() | bytearray() | memoryview():
            return bytes(given)
        case str():
            return given.encode(errors="surrogateescape")
        case dict() | list():
            return as_json(what, given)
        case _:
            raise UsageError(
                f"{what}={given!r} is not possible: use str, bytes, None, or a dict or list for JSON"
            )


def as_json(what: str, given: object) -> bytes:
    """Return JSON without spaces. Raises UsageError for values that JSON cannot express, such as sets, times
    and NaN; `what` names the part of the record.
    """
    try:
        return json.dumps(given, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the {what} cannot be written as JSON: {error}") from error


def _headers(given: Headers) -> tuple[tuple[str, bytes | None], ...]:
    try:
        pairs = [(name, value) for name, value in (given.items() if isinstance(given, Mapping) else given)]
    except (TypeError, ValueError):
        pairs = [(None, None)]
    if not all(
        isinstance(name, str) and (value is None or isinstance(value, (str, bytes))) for name, value in pairs
    ):
        raise UsageError(
            f"headers={given!r} are not possible: use a dict or (name, value) pairs, "
            "with str, bytes or None as values"
        )
    return tuple((str(name), _content("header", value)) for name, value in pairs)


def _milliseconds(given: int | datetime) -> int:
    if isinstance(given, datetime):
        return round(given.timestamp() * 1000)
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= _MAX_TIMESTAMP:
        raise UsageError(f"timestamp={given!r} is not possible: use milliseconds since 1970, or a datetime")
    return given
