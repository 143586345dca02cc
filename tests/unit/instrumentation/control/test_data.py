"""Bytes of keys and values in JSON."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompat.instrumentation.control.data import Base64, Data, bytes_of, shown


@given(st.none() | st.binary() | st.text().map(str.encode))
def test_bytes_come_back_as_they_were(data: bytes | None) -> None:
    in_json = msgspec.json.encode(shown(data))
    assert bytes_of(msgspec.json.decode(in_json, type=Data)) == data


def test_text_stays_text() -> None:
    assert shown("grün".encode()) == "grün"
    assert shown(b"\xff") == Base64(b"\xff")
    assert msgspec.json.encode(shown(b"\xff")) == b'{"base64":"/w=="}'


@pytest.mark.parametrize("text", ['{"base64": "?"}', '{"bytes": "aa"}', "1", "[]"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Data)
