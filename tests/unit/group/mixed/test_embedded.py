"""The consumer protocol inside the classic one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.group.mixed.embedded import Assigned, read_assignment, read_subscription, write_assignment
from support.consumer_texts import assigned, assignment, subscription
from support.group_coordinators import topic_id

if TYPE_CHECKING:
    from support.group_coordinators import ConsumerGroupFixture

T, U = topic_id("t"), topic_id("u")
MINE = frozenset({("t", 1), ("gone", 0)})


@pytest.mark.parametrize("version", range(4))
def test_a_subscription_is_read_in_every_version(fixture: ConsumerGroupFixture, version: int) -> None:
    found = read_subscription(subscription("tx", MINE, version=version, rack_id="r"), fixture.image)
    assert found is not None
    assert found.topics == {"t", "x"}
    assert found.owned == ({T: frozenset({1})} if version >= 1 else {})
    assert found.rack_id == ("r" if version >= 3 else None)


def test_a_newer_version_is_read_as_the_newest(fixture: ConsumerGroupFixture) -> None:
    newer = b"\0\x09" + subscription("t")[2:] + b"more"
    found = read_subscription(newer, fixture.image)
    assert found is not None
    assert found.topics == {"t"}


@pytest.mark.parametrize("text", [b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\1\0\0\0\7"])
def test_what_cannot_be_read(fixture: ConsumerGroupFixture, text: bytes) -> None:
    assert read_subscription(text, fixture.image) is None
    if text:
        assert read_assignment(text, fixture.image) is None


def test_an_assignment_is_read_and_may_be_empty(fixture: ConsumerGroupFixture) -> None:
    assert read_assignment(b"", fixture.image) == Assigned()
    assert read_assignment(assignment(MINE), fixture.image) == Assigned({T: frozenset({1})})
    told = read_assignment(assignment(MINE, user_data=b"x"), fixture.image)
    assert told == Assigned({T: frozenset({1})}, for_assignor=True)


@pytest.mark.parametrize("version", range(4))
def test_an_assignment_is_written_in_the_version_of_the_subscription(
    fixture: ConsumerGroupFixture, version: int
) -> None:
    told = subscription("t", version=version)
    text = write_assignment({T: {2, 0}, U: [1], bytes(16): [0]}, told, fixture.image)
    assert text[:2] == bytes((0, version))
    assert assigned(text) == {("t", 0), ("t", 2), ("u", 1)}


def test_it_is_written_in_the_newest_version_at_most(fixture: ConsumerGroupFixture) -> None:
    assert write_assignment({}, b"\0\x09", fixture.image)[:2] == b"\0\3"
