"""Moves between log directories are described as Kafka describes them."""

from __future__ import annotations

import pytest

from kcompat.commands.reassignment.directories import Directories, Replica, describe_moves

REPLICA = Replica(1, "t", 0)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (Directories("/a"), "Reassignment of replica t-0-1 completed successfully."),
        (Directories("/b", "/a"), "Reassignment of replica t-0-1 is still in progress."),
        (
            Directories("/b", "/c"),
            "Partition t-0 on broker 1 is being moved to log dir /c instead of /a.",
        ),
        (Directories("/b"), "Partition t-0 on broker 1 is not being moved from log dir /b to /a."),
        (
            Directories(),
            "Partition t-0 is not found in any live log dir on broker 1. "
            "There is likely an offline log directory on the broker.",
        ),
    ],
)
def test_move_to_a_directory_is_described(place: Directories, sentence: str) -> None:
    assert describe_moves({REPLICA: "/a"}, {REPLICA: place}) == [sentence]
