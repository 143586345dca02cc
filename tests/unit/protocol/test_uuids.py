from __future__ import annotations

from random import Random

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
def test_text(value: bytes, text: str) -> None:
    assert uuid_to_text(value) == text
    assert uuid_from_text(text) == value
    assert uuid_from_text(text + "==") == value


@pytest.mark.parametrize(
    "text", ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAA0A", "AA+A" * 6, "\u00e4" * 22]
)
def test_not_a_uuid(text: str) -> None:
    with pytest.raises(ValueError, match="not a uuid"):
        uuid_from_text(text)


class Draws(Random):
    """Gives these numbers."""

    def __init__(self, *numbers: int) -> None:
        super().__init__()
        self.left = list(numbers)

    def getrandbits(self, k: int) -> int:
        return self.left.pop(0)


def test_random_uuid() -> None:
    dash_first = 0xF8 << 120
    draws = Draws(dash_first, 0)
    assert random_uuid(draws).hex() == "00000000000040008000000000000000"
    assert draws.left == []
