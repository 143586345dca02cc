"""Bytes of keys and values in JSON."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompat.errors import UsageError
from kcompat.instrumentation.control.data import Base64, NewData, bytes_of, shown


@given(st.none() | st.binary() | st.text().map(str.encode))
def test_bytes_come_back_as_they_were(data: bytes | None) -> None:
    in_json = msgspec.json.encode(shown(data))
    assert bytes_of(msgspec.json.decode(in_json, type=NewData)) == data


def test_text_stays_text() -> None:
    assert shown("grün".encode()) == "grün"
    assert shown(b"\xff") == Base64(b"\xff")
    assert msgspec.json.encode(shown(b"\xff")) == b'{"base64":"/w=="}'


@pytest.mark.parametrize("text", ['{"base64": "?"}', '{"bytes": "aa"}', "1", "[]"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=NewData)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('{"json": {"id": 1, "name": "grün"}}', '{"id":1,"name":"grün"}'),
        ('{"json": null}', "null"),
        ('{"json": [1.5, "a"]}', '[1.5,"a"]'),
    ],
)
def test_json_is_written_without_spaces(text: str, content: str) -> None:
    assert bytes_of(msgspec.json.decode(text, type=NewData)) == content.encode()


@pytest.mark.parametrize("text", ["{}", '{"base64": "/w==", "json": 1}'])
def test_one_encoding_must_be_given(text: str) -> None:
    with pytest.raises(UsageError, match="has either base64 or json"):
        bytes_of(msgspec.json.decode(text, type=NewData))
