"""The names of metadata versions."""

from __future__ import annotations

import pytest

from kcompat.commands.metadata_versions import level_of, name_of, names_from


@pytest.mark.parametrize(
    ("level", "name"), [(1, "3.0-IV1"), (7, "3.3-IV3"), (21, "3.9-IV0"), (30, "4.3-IV0")]
)
def test_a_level_and_its_name(level: int, name: str) -> None:
    assert name_of(level) == name
    assert level_of(name) == level


def test_a_release_is_its_last_version() -> None:
    assert level_of("3.7") == level_of("3.7.1") == level_of("3.7-IV4")
    assert level_of("4.0") == level_of("4.0-IV3")


def test_unknown_ones() -> None:
    assert name_of(0) == "UNKNOWN 0"
    assert level_of("9.9") is None


def test_a_range_of_names() -> None:
    assert names_from("3.3-IV3", "3.5-IV0") == ("3.3-IV3", "3.4-IV0", "3.5-IV0")
