"""The cache of fetched things that the clones on a machine share."""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING

import pytest

from fetch import Part
from machine_cache import MachineCache, link

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = "0123456789abcdef" * 4


def filler(entry: Path) -> None:
    """Add a line to the file; a second filling of the same directory would add a second."""
    with (entry / "content").open("a") as file:
        file.write("filled\n")


def test_a_second_clone_gets_what_the_first_has_fetched(tmp_path: Path) -> None:
    entries = [MachineCache(tmp_path).provide("jars", DIGEST, filler) for _ in range(2)]
    assert entries[0] == entries[1]
    assert (entries[0] / "content").read_text() == "filled\n"


def test_other_inputs_have_an_entry_of_their_own(tmp_path: Path) -> None:
    cache = MachineCache(tmp_path)
    assert cache.provide("jars", DIGEST, filler) != cache.provide("jars", DIGEST[::-1], filler)


def test_a_fetch_that_fails_halfway_begins_anew(tmp_path: Path) -> None:
    cache = MachineCache(tmp_path)

    def fails(entry: Path) -> None:
        filler(entry)
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        cache.provide("jars", DIGEST, fails)
    assert (cache.provide("jars", DIGEST, filler) / "content").read_text() == "filled\n"


def test_clones_that_fetch_at_once_take_turns(tmp_path: Path) -> None:
    def fill(entry: Path) -> None:
        with (tmp_path / "lock").open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        filler(entry)

    assert (MachineCache(tmp_path).provide("jars", DIGEST, fill) / "content").exists()


def test_a_link_replaces_what_an_earlier_commit_left(tmp_path: Path) -> None:
    place = tmp_path / "clone" / "jars"
    place.mkdir(parents=True)
    (place / "old.jar").touch()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        link(place, tmp_path / name)
        assert place.resolve() == tmp_path / name
    assert [path.name for path in place.parent.iterdir()] == ["jars"]


def test_a_part_whose_entry_was_deleted_is_not_there(tmp_path: Path) -> None:
    part = Part("kafka-3.9.2", "", lambda: None, tmp_path / "deleted")
    assert not part.is_there()
