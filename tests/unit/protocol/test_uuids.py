from __future__ import annotations

import pytest

from kcompat.protocol.uuids import ZERO_UUID, random_uuid, uuid_from_text, uuid_to_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ZERO_UUID, "AAAAAAAAAAAAAAAAAAAAAA"),
        (bytes(15) + b"\1", "AAAAAAAAAAAAAAAAAAAAAQ"),
        (b"\xff" * 16, "_____________________w"),
        (bytes.fromhex("fbefbefbefbefbefbefbefbefbefbefb"), "--------------------" + "-w"),
        (bytes(range(16)), "AAECAwQFBgcICQoLDA0ODw"),
    ],
)
def test_text(value, text):
    assert uuid_to_text(value) == text
    assert uuid_from_text(text) == value
    assert uuid_from_text(text + "==") == value


@pytest.mark.parametrize(
    "text", ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAA0A", "AA+A" * 6, "\u00e4" * 22]
)
def test_not_a_uuid(text):
    with pytest.raises(ValueError, match="not a uuid"):
        uuid_from_text(text)


def test_random_uuid(monkeypatch):
    dash_first = b"\xf8" + b"\xff" * 15
    draws = [dash_first, bytes(16)]
    monkeypatch.setattr("os.urandom", lambda n: draws.pop(0)[:n])
    assert random_uuid().hex() == "00000000000040008000000000000000"
    assert draws == []
