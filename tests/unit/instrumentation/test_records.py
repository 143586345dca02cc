from __future__ import annotations

import pytest

from kcompat.errors import UsageError
from kcompat.instrumentation.records import Record


def record(value: bytes | None, key: bytes | None = None, **more: object) -> Record:
    return Record("orders", 1, 42, 0, "CreateTime", key, value, **more)  # type: ignore[arg-type]


def test_the_value_as_text_and_as_json() -> None:
    assert record('{"name": "é"}'.encode()).json() == {"name": "é"}
    assert record("é".encode()).text == "é"
    assert (record(None).json(), record(None).text) == (None, None)


def test_a_value_of_another_form_is_refused_with_the_place_of_the_record() -> None:
    with pytest.raises(UsageError, match=r"<Record orders-1@42 .*> is no UTF-8 text: use \.value"):
        _ = record(b"\xff").text
    with pytest.raises(UsageError, match=r"<Record orders-1@42 .*> is not JSON"):
        record(b"no").json()


def test_repr_has_the_beginning_of_long_values() -> None:
    assert repr(record(b"v", b"k", headers=(("h", None),))) == (
        "<Record orders-1@42 key=b'k' value=b'v' headers={'h': None}>"
    )
    assert repr(record(b"x" * 1000)).endswith("xxx'... (1000 bytes)>")
    assert len(repr(record(b"x" * 1000))) < 150
