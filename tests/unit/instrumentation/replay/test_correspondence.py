"""Ids of two brokers that correspond."""

from __future__ import annotations

import pytest

from kcompat.instrumentation.replay.correspondence import Correspondence, Kind, kind_of

PRODUCER: Kind = ("producer",)


def test_ids_correspond_from_their_first_meeting_on() -> None:
    ids = Correspondence()
    assert ids.translated(PRODUCER, 7) == 7
    assert ids.agree(PRODUCER, 7, 1000)
    assert ids.agree(PRODUCER, 7, 1000)
    assert ids.translated(PRODUCER, 7) == 1000
    assert not ids.agree(PRODUCER, 7, 1001)
    assert not ids.agree(PRODUCER, 8, 1000), "two producers of the recording were one here"
    assert ids.agree(("session",), 7, 1001), "another kind"


@pytest.mark.parametrize(
    ("kind", "recorded", "new", "agree"),
    [
        ("producer", -1, -1, True),
        ("producer", -1, 5, False),
        ("member", "", "m-1", False),
        ("session", 0, 12, False),
        ("session", 0, 0, True),
        ("producer", 0, 12, True),
    ],
)
def test_no_id_corresponds_to_no_id_alone(kind: str, recorded: object, new: object, agree: bool) -> None:
    assert Correspondence().agree((kind,), recorded, new) is agree


def test_generations_count_within_their_group() -> None:
    assert kind_of("generation_id", "g") != kind_of("generation_id", "h")
    assert kind_of("member_id", "g") == kind_of("leader", "h")
    assert kind_of("base_offset", "g") is None
