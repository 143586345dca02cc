"""Members that are expected to join a group, from FindCoordinator requests and joins."""

from __future__ import annotations

import pytest

from kcompat.group.expected import EXPECTED_FOR_MS, ExpectedMembers
from support.asking import Client


@pytest.fixture
def expected() -> ExpectedMembers:
    return ExpectedMembers()


def test_nobody_is_expected_at_first(expected: ExpectedMembers) -> None:
    expected.note_join("g")
    assert not expected.any_for("g", 0)


def test_who_asked_is_expected_until_as_many_have_come(expected: ExpectedMembers) -> None:
    for _ in range(2):
        expected.note_find_coordinator(Client(), "g", 0)
    expected.note_join("g")
    assert expected.any_for("g", 0)
    assert not expected.any_for("other", 0)
    expected.note_join("g")
    assert not expected.any_for("g", 0)


def test_who_does_not_come_soon_only_asked(expected: ExpectedMembers) -> None:
    expected.note_find_coordinator(Client(), "g", 5)
    assert expected.any_for("g", 5 + EXPECTED_FOR_MS)
    assert not expected.any_for("g", 6 + EXPECTED_FOR_MS)


def test_a_client_that_asks_twice_is_one(expected: ExpectedMembers) -> None:
    client = Client()
    for now_ms in range(3):
        expected.note_find_coordinator(client, "g", now_ms)
    expected.note_join("g")
    assert not expected.any_for("g", 2)
    expected.note_find_coordinator(client, "g", 3)
    assert not expected.any_for("g", 3), "it has joined"


def test_a_closed_connection_is_not_waited_for(expected: ExpectedMembers) -> None:
    """librdkafka asks on the connection that it was given, closes that one, and asks again."""
    first, second = Client(), Client()
    expected.note_find_coordinator(first, "g", 0)
    expected.note_find_coordinator(second, "g", 0)
    first.leave()
    expected.note_join("g")
    assert not expected.any_for("g", 0)
    second.leave()


def test_a_client_that_is_gone_when_it_is_answered_is_not_waited_for(expected: ExpectedMembers) -> None:
    client = Client()
    client.leave()
    expected.note_find_coordinator(client, "g", 0)
    assert not expected.any_for("g", 0)


def test_only_the_last_question_of_a_connection_counts(expected: ExpectedMembers) -> None:
    tool = Client()
    for group_id in ("a", "b", "c"):
        expected.note_find_coordinator(tool, group_id, 0)
    assert [group_id for group_id in ("a", "b", "c") if expected.any_for(group_id, 0)] == ["c"]
    tool.leave()
    assert not expected.any_for("c", 0)
