"""Members whose connections have ended, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.group.presence import Presence
from kcompat.protocol.errors import ErrorCode
from support.asking import Client
from support.consumer_group_world import SESSION_MS, ConsumerGroupWorld
from support.group_world import GROUP

if TYPE_CHECKING:
    from support.group_world import GroupWorld

LEFT_MS = 10_000 * 2 // 5
"""Of the session of a classic member here."""


def lose_connection(world: GroupWorld, member_id: str) -> None:
    """The connection ends on which this member was last heard of."""
    client = Client()
    world.coordinator.heard(client, GROUP, member_id)
    client.leave()


@pytest.fixture
def lost() -> list[str]:
    return []


@pytest.fixture
def presence(lost: list[str]) -> Presence:
    return Presence(lambda group_id, member_id: lost.append(f"{member_id} of {group_id}"))


def test_a_member_is_lost_with_its_connection(presence: Presence, lost: list[str]) -> None:
    client = Client()
    for _ in range(2):
        presence.heard(client, "g", "m")
    assert lost == []
    client.leave()
    assert lost == ["m of g"]


def test_a_member_that_was_heard_of_elsewhere_since_is_not_lost(presence: Presence, lost: list[str]) -> None:
    old, new = Client(), Client()
    presence.heard(old, "g", "m")
    presence.heard(new, "g", "m")
    old.leave()
    assert lost == []
    new.leave()
    assert lost == ["m of g"]


def test_a_connection_stands_for_the_member_that_was_heard_of_last(
    presence: Presence, lost: list[str]
) -> None:
    client = Client()
    for member_id in ("a", "b", "a", "b"):
        presence.heard(client, "g", member_id)
    client.leave()
    assert lost == ["b of g"]


def test_a_connection_that_has_ended_already(presence: Presence, lost: list[str]) -> None:
    client = Client()
    client.leave()
    presence.heard(client, "g", "m")
    assert lost == ["m of g"]


def test_a_classic_member_that_lost_its_connection_is_out_after_two_fifths_of_its_session(
    world: GroupWorld,
) -> None:
    stays, goes = world.stable("a", "b")
    lose_connection(world, goes)
    world.clock.advance(LEFT_MS - 1)
    assert world.heartbeat(stays, 2) == ErrorCode.NONE
    world.clock.advance(1)
    assert world.heartbeat(stays, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.heartbeat(goes, 2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_on_another_connection_gives_it_its_whole_session(world: GroupWorld) -> None:
    (member_id,) = world.stable("a")
    lose_connection(world, member_id)
    world.clock.advance(LEFT_MS - 1)
    assert world.heartbeat(member_id, 1) == ErrorCode.NONE
    world.clock.advance(9_999)
    assert world.heartbeat(member_id, 1) == ErrorCode.NONE


def test_a_static_member_is_waited_for(world: GroupWorld) -> None:
    member_id = world.join(instance_id="i", session_timeout_ms=10_000).value.member_id
    world.sync(member_id, 1, {member_id: b""})
    lose_connection(world, member_id)
    world.clock.advance(9_999)
    assert world.heartbeat(member_id, 1) == ErrorCode.NONE


def test_a_group_or_member_that_is_not_there_any_more(world: GroupWorld) -> None:
    (member_id,) = world.stable("a")
    for group_id, client in (("another", Client()), (GROUP, Client())):
        world.coordinator.heard(client, group_id, member_id)
        world.leave(member_id)
        client.leave()


@pytest.mark.parametrize("is_static", [False, True])
def test_a_consumer_that_lost_its_connection(is_static: bool) -> None:
    world = ConsumerGroupWorld()
    world.enter("a")
    world.enter("b", **({"instance_id": "i"} if is_static else {}))
    world.settle("a", "b")
    lose_connection(world, "b")
    world.clock.advance(SESSION_MS * 2 / 5)
    world.settle("a")
    assert (world.owned("a")["t"] == [0, 1, 2]) is not is_static
