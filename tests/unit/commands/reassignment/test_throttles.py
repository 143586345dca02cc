"""Throttles concern the brokers between which partitions move."""

from __future__ import annotations

from kcompat.admin.topics import Reassignment
from kcompat.commands.reassignment.throttles import Move, moves, moving_brokers, throttled_replicas

ONGOING = {("t", 0): Reassignment([1, 2, 3], [3], [1]), ("v", 0): Reassignment([1, 4], [4], [])}
FOUND = moves(ONGOING, {("t", 0): [2, 5], ("t", 1): [1, 6]}, {("t", 0): [1, 2, 3], ("t", 1): [1, 2]})


def test_moves_are_those_under_way_and_those_proposed() -> None:
    assert {
        ("t", 0): Move(frozenset({1, 2}), frozenset({5})),
        ("t", 1): Move(frozenset({1, 2}), frozenset({6})),
        ("v", 0): Move(frozenset({1}), frozenset({4})),
    } == FOUND


def test_replicas_and_brokers_of_moves_are_throttled() -> None:
    assert throttled_replicas(FOUND, of_leaders=True) == {"t": "0:1,0:2,1:1,1:2", "v": "0:1"}
    assert throttled_replicas(FOUND, of_leaders=False) == {"t": "0:5,1:6", "v": "0:4"}
    assert moving_brokers(FOUND) == [1, 2, 4, 5, 6]
