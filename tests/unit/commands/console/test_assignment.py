"""The leader of a classic group assigns ranges as Kafka's `RangeAssignor` does."""

from __future__ import annotations

from kcompat.commands.console.assignment import (
    assign_ranges,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)


def test_first_members_get_one_more() -> None:
    assigned = assign_ranges({"b": ["t"], "a": ["t", "u"], "c": ["u"]}, {"t": [2, 0, 1], "u": [0]})
    assert assigned == {"a": [("t", 0), ("t", 1), ("u", 0)], "b": [("t", 2)], "c": []}


def test_topic_without_subscribers_is_left_out() -> None:
    assert assign_ranges({"a": ["t"]}, {"t": [0], "u": [0]}) == {"a": [("t", 0)]}


def test_subscriptions_and_assignments_are_read_back() -> None:
    assert decode_subscription(encode_subscription(["u", "t"])) == ["t", "u"]
    assert decode_assignment(encode_assignment([("t", 1), ("t", 0), ("s", 4)])) == [
        ("s", 4),
        ("t", 0),
        ("t", 1),
    ]
    assert decode_assignment(b"") == []
