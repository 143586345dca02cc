"""The consumer protocol inside the classic one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.group.mixed.embedded import Assigned, read_assignment, read_subscription, write_assignment
from support.consumer_group_world import topic_id
from support.consumer_texts import assigned, assignment, subscription

if TYPE_CHECKING:
    from support.mixed_group_world import MixedGroupWorld

T, U = topic_id("t"), topic_id("u")
MINE = frozenset({("t", 1), ("gone", 0)})


@pytest.mark.parametrize("version", range(4))
def test_a_subscription_is_read_in_every_version(world: MixedGroupWorld, version: int) -> None:
    found = read_subscription(subscription("tx", MINE, version=version, rack_id="r"), world.image)
    assert found is not None
    assert found.topics == {"t", "x"}
    assert found.owned == ({T: frozenset({1})} if version >= 1 else {})
    assert found.rack_id == ("r" if version >= 3 else None)


def test_a_newer_version_is_read_as_the_newest(world: MixedGroupWorld) -> None:
    newer = b"\0\x09" + subscription("t")[2:] + b"more"
    found = read_subscription(newer, world.image)
    assert found is not None
    assert found.topics == {"t"}


@pytest.mark.parametrize("text", [b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\1\0\0\0\7"])
def test_what_cannot_be_read(world: MixedGroupWorld, text: bytes) -> None:
    assert read_subscription(text, world.image) is None
    if text:
        assert read_assignment(text, world.image) is None


def test_an_assignment_is_read_and_may_be_empty(world: MixedGroupWorld) -> None:
    assert read_assignment(b"", world.image) == Assigned()
    assert read_assignment(assignment(MINE), world.image) == Assigned({T: frozenset({1})})
    told = read_assignment(assignment(MINE, user_data=b"x"), world.image)
    assert told == Assigned({T: frozenset({1})}, for_assignor=True)


@pytest.mark.parametrize("version", range(4))
def test_an_assignment_is_written_in_the_version_of_the_subscription(
    world: MixedGroupWorld, version: int
) -> None:
    told = subscription("t", version=version)
    text = write_assignment({T: {2, 0}, U: [1], bytes(16): [0]}, told, world.image)
    assert text[:2] == bytes((0, version))
    assert assigned(text) == {("t", 0), ("t", 2), ("u", 1)}


def test_it_is_written_in_the_newest_version_at_most(world: MixedGroupWorld) -> None:
    assert write_assignment({}, b"\0\x09", world.image)[:2] == b"\0\3"
