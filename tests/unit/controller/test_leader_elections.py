"""Tests of the rules by which Kafka elects the leader of a partition, one for each case."""

from __future__ import annotations

import pytest

from kcompat.controller import leader_elections
from kcompat.controller.leader_elections import ElectionResult
from kcompat.controller.state import ControlledPartition


def partition(leader: int, isr: tuple[int, ...], replicas: tuple[int, ...]) -> ControlledPartition:
    return ControlledPartition(leader, 4, isr, replicas, 9)


def among(*live: int) -> leader_elections.IsLive:
    return set(live).__contains__


@pytest.mark.parametrize(
    ("isr", "live", "unclean", "result"),
    [
        ((3, 2), (1, 2, 3), False, ElectionResult(2, (3, 2), 0)),
        ((3, 2), (1, 3), False, ElectionResult(3, (3,), 0)),
        ((3, 2), (1,), False, None),
        ((3, 2), (1,), True, ElectionResult(1, (1,), 1)),
        ((3, 2), (1, 2), True, ElectionResult(2, (2,), 0)),
        ((3, 2), (), True, None),
    ],
)
def test_offline(
    isr: tuple[int, ...], live: tuple[int, ...], unclean: bool, result: ElectionResult | None
) -> None:
    offline = partition(-1, isr, (1, 2, 3))
    assert leader_elections.of_offline(offline, among(*live), unclean=unclean) == result


def test_new() -> None:
    new = ControlledPartition(-1, 0, (), (2, 1, 3), -1)
    assert leader_elections.of_new(new, among(1, 3)) == ElectionResult(1, (1, 3), 0)
    assert leader_elections.of_new(new, among()) is None


def test_preferred() -> None:
    assert leader_elections.of_preferred(partition(2, (2, 1), (1, 2)), among(1, 2)) == ElectionResult(
        1, (2, 1), 0
    )
    assert leader_elections.of_preferred(partition(2, (2,), (1, 2)), among(1, 2)) is None
    assert leader_elections.of_preferred(partition(2, (2, 1), (1, 2)), among(2)) is None


def test_reassigned() -> None:
    moving = ControlledPartition(1, 4, (1, 3, 4), (3, 4, 1), 9, 0, (3, 4), (1,))
    assert leader_elections.of_reassigned(moving, among(1, 3, 4)) == ElectionResult(3, (1, 3, 4), 0)
    assert leader_elections.of_reassigned(moving, among(1, 4)) == ElectionResult(4, (1, 3, 4), 0)
    assert leader_elections.of_reassigned(moving, among(1)) is None


def test_shutdown() -> None:
    led = partition(1, (1, 2, 3), (1, 2, 3))
    assert leader_elections.of_shutdown(led, among(2, 3), {1}) == ElectionResult(2, (2, 3), 0)
    assert leader_elections.of_shutdown(led, among(3), {1, 2}) == ElectionResult(3, (3,), 0)
    assert leader_elections.of_shutdown(led, among(), {1}) is None
