from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kcompat.errors import UsageError
from kcompat.instrumentation.new_records import NewRecord, PreparedRecord, all_prepared, prepared


@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        ("é", None, "é".encode()),
        (b"\x00\xff", None, b"\x00\xff"),
        (bytearray(b"v"), None, b"v"),
        (None, None, None),
        ({"id": 1, "name": "é"}, None, '{"id":1,"name":"é"}'.encode()),
        ([1, None], None, b"[1,null]"),
        (("k", "v"), b"k", b"v"),
        ((None, None), None, None),
        (NewRecord("v", {"id": 1}), b'{"id":1}', b"v"),
    ],
)
def test_keys_and_values(given: Any, key: bytes | None, value: bytes | None) -> None:
    assert prepared(given) == PreparedRecord(key, value, (), None, None)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": "x", "b": b"\xff", "c": None}, (("a", b"x"), ("b", b"\xff"), ("c", None))),
        ([("a", "1"), ("a", "2")], (("a", b"1"), ("a", b"2"))),
        ({}, ()),
    ],
)
def test_headers(given: Any, expected: object) -> None:
    assert prepared(NewRecord("v", headers=given)).headers == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [(0, 0), (1_700_000_000_123, 1_700_000_000_123), (datetime(2020, 1, 1, tzinfo=UTC), 1_577_836_800_000)],
)
def test_timestamps(given: Any, expected: int) -> None:
    assert prepared(NewRecord("v", timestamp=given)).timestamp == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "value=5 is not possible: use str"),
        ({"a": object()}, "the value cannot be written as JSON"),
        ({"a": {1, 2}}, "the value cannot be written as JSON: Object of type set"),
        ({"a": datetime(2020, 1, 1, tzinfo=UTC)}, "Object of type datetime"),
        ([float("nan")], "the value cannot be written as JSON: Out of range float"),
        (["\ud800"], "the value cannot be written as JSON"),
        (("k", "v", "h"), "is no record: use a value, "),
    ],
)
def test_values_that_no_record_can_have_are_refused(given: Any, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        prepared(given)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"key": 1.5}, "key=1.5 is not possible"),
        ({"headers": {"a": 1}}, "headers={'a': 1} are not possible: use a dict"),
        ({"headers": {1: "a"}}, "headers="),
        ({"headers": "ab"}, "headers='ab' are not possible"),
        ({"headers": 7}, "headers=7 are not possible"),
        ({"partition": "0"}, "partition='0' is no number"),
        ({"partition": True}, "partition=True is no number"),
        ({"timestamp": -1}, "timestamp=-1 is not possible: use milliseconds"),
        ({"timestamp": 1.5}, "timestamp=1.5 is not possible"),
        ({"timestamp": "now"}, "timestamp='now' is not possible"),
        ({"timestamp": 2**63}, "is not possible"),
    ],
)
def test_fields_that_no_record_can_have_are_refused(field: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        prepared(NewRecord("v", **field))
    assert message in str(raised.value)


def test_one_record_in_place_of_several_is_refused() -> None:
    for given in ("abc", b"abc", {"k": "v"}, NewRecord("v"), None, 5):
        with pytest.raises(UsageError, match="are no records: use a list, also for one record"):
            all_prepared(given)  # type: ignore[arg-type]
    assert len(all_prepared(each for each in ("a", None))) == 2
