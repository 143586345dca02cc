"""Members whose connections have ended, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.group.events import SOONER
from kcompat.group.presence import Presence
from kcompat.protocol.errors import ErrorCode
from support.asking import Client
from support.group_coordinators import GROUP, SESSION_MS, ConsumerGroupFixture

if TYPE_CHECKING:
    from support.group_coordinators import GroupFixture

LEFT_MS = 10_000 * 2 // 5
"""Session time in ms that a classic member of these tests has left after its connection ended."""


def lose_connection(fixture: GroupFixture, member_id: str) -> None:
    """The connection ends on which this member was last heard of."""
    client = Client()
    fixture.coordinator.note_request(client, GROUP, member_id)
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
        presence.note_request(client, "g", "m")
    assert lost == []
    client.leave()
    assert lost == ["m of g"]


def test_a_member_that_was_heard_of_elsewhere_since_is_not_lost(presence: Presence, lost: list[str]) -> None:
    old, new = Client(), Client()
    presence.note_request(old, "g", "m")
    presence.note_request(new, "g", "m")
    old.leave()
    assert lost == []
    new.leave()
    assert lost == ["m of g"]


def test_a_connection_stands_for_the_member_that_was_heard_of_last(
    presence: Presence, lost: list[str]
) -> None:
    client = Client()
    for member_id in ("a", "b", "a", "b"):
        presence.note_request(client, "g", member_id)
    client.leave()
    assert lost == ["b of g"]


def test_a_connection_that_has_ended_already(presence: Presence, lost: list[str]) -> None:
    client = Client()
    client.leave()
    presence.note_request(client, "g", "m")
    assert lost == ["m of g"]


def test_a_classic_member_that_lost_its_connection_is_out_after_two_fifths_of_its_session(
    fixture: GroupFixture, caplog: pytest.LogCaptureFixture
) -> None:
    stays, goes = fixture.stable("a", "b")
    lose_connection(fixture, goes)
    fixture.clock.advance(LEFT_MS - 1)
    assert fixture.heartbeat(stays, 2) == ErrorCode.NONE
    fixture.clock.advance(1)
    assert fixture.heartbeat(stays, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    assert fixture.heartbeat(goes, 2) == ErrorCode.UNKNOWN_MEMBER_ID
    [line] = caplog.messages
    assert f"member {goes} " in line
    assert line.endswith("no request for its session timeout of 10000 ms" + SOONER)


def test_a_classic_member_that_falls_silent_is_out_after_its_session(
    fixture: GroupFixture, caplog: pytest.LogCaptureFixture
) -> None:
    fixture.stable("a")
    fixture.clock.advance(10_000)
    [line] = caplog.messages
    assert line.endswith("no request for its session timeout of 10000 ms")


def test_a_heartbeat_on_another_connection_gives_it_its_whole_session(fixture: GroupFixture) -> None:
    (member_id,) = fixture.stable("a")
    lose_connection(fixture, member_id)
    fixture.clock.advance(LEFT_MS - 1)
    assert fixture.heartbeat(member_id, 1) == ErrorCode.NONE
    fixture.clock.advance(9_999)
    assert fixture.heartbeat(member_id, 1) == ErrorCode.NONE


def test_a_static_member_is_waited_for(fixture: GroupFixture) -> None:
    member_id = fixture.join(instance_id="i", session_timeout_ms=10_000).value.member_id
    fixture.sync(member_id, 1, {member_id: b""})
    lose_connection(fixture, member_id)
    fixture.clock.advance(9_999)
    assert fixture.heartbeat(member_id, 1) == ErrorCode.NONE


def test_a_group_or_member_that_is_not_there_any_more(fixture: GroupFixture) -> None:
    (member_id,) = fixture.stable("a")
    for group_id, client in (("another", Client()), (GROUP, Client())):
        fixture.coordinator.note_request(client, group_id, member_id)
        fixture.leave(member_id)
        client.leave()


@pytest.mark.parametrize("is_static", [False, True])
def test_a_consumer_that_lost_its_connection(is_static: bool, caplog: pytest.LogCaptureFixture) -> None:
    fixture = ConsumerGroupFixture()
    fixture.enter("a")
    fixture.enter("b", **({"instance_id": "i"} if is_static else {}))
    fixture.settle("a", "b")
    lose_connection(fixture, "b")
    fixture.clock.advance(SESSION_MS * 2 / 5)
    fixture.settle("a")
    assert (fixture.owned("a")["t"] == [0, 1, 2]) is not is_static
    assert [line.endswith(SOONER) for line in caplog.messages] == ([] if is_static else [True])
