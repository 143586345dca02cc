"""Who leads: Kafka's rules, case by case."""

from __future__ import annotations

import pytest

from kcompat.controller import elections
from kcompat.controller.elections import Choice
from kcompat.controller.state import ControlledPartition


def partition(leader: int, isr: tuple[int, ...], replicas: tuple[int, ...]) -> ControlledPartition:
    return ControlledPartition(leader, 4, isr, replicas, 9)


def among(*live: int) -> elections.IsLive:
    return set(live).__contains__


@pytest.mark.parametrize(
    ("isr", "live", "unclean", "choice"),
    [
        ((3, 2), (1, 2, 3), False, Choice(2, (3, 2), 0)),
        ((3, 2), (1, 3), False, Choice(3, (3,), 0)),
        ((3, 2), (1,), False, None),
        ((3, 2), (1,), True, Choice(1, (1,), 1)),
        ((3, 2), (1, 2), True, Choice(2, (2,), 0)),
        ((3, 2), (), True, None),
    ],
)
def test_offline(isr: tuple[int, ...], live: tuple[int, ...], unclean: bool, choice: Choice | None) -> None:
    offline = partition(-1, isr, (1, 2, 3))
    assert elections.of_offline(offline, among(*live), unclean=unclean) == choice


def test_new() -> None:
    new = ControlledPartition(-1, 0, (), (2, 1, 3), -1)
    assert elections.of_new(new, among(1, 3)) == Choice(1, (1, 3), 0)
    assert elections.of_new(new, among()) is None


def test_preferred() -> None:
    assert elections.of_preferred(partition(2, (2, 1), (1, 2)), among(1, 2)) == Choice(1, (2, 1), 0)
    assert elections.of_preferred(partition(2, (2,), (1, 2)), among(1, 2)) is None
    assert elections.of_preferred(partition(2, (2, 1), (1, 2)), among(2)) is None


def test_reassigned() -> None:
    moving = ControlledPartition(1, 4, (1, 3, 4), (3, 4, 1), 9, 0, (3, 4), (1,))
    assert elections.of_reassigned(moving, among(1, 3, 4)) == Choice(3, (1, 3, 4), 0)
    assert elections.of_reassigned(moving, among(1, 4)) == Choice(4, (1, 3, 4), 0)
    assert elections.of_reassigned(moving, among(1)) is None


def test_shutdown() -> None:
    led = partition(1, (1, 2, 3), (1, 2, 3))
    assert elections.of_shutdown(led, among(2, 3), {1}) == Choice(2, (2, 3), 0)
    assert elections.of_shutdown(led, among(3), {1, 2}) == Choice(3, (3,), 0)
    assert elections.of_shutdown(led, among(), {1}) is None
