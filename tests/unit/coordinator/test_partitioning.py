"""Where groups live: Java's string hash."""

from __future__ import annotations

import pytest

from kcompat.coordinator.partitioning import NOWHERE, java_string_hash, partition_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("my-consumer-group", 1513705513),
        ("polygenelubricants", -(2**31)),
        ("ä€", 15432),
        ("😀", 1772899),
    ],
)
def test_hash_is_java_s(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


def test_the_smallest_hash_goes_to_partition_zero() -> None:
    assert partition_for("polygenelubricants", 50) == 0


def test_partition_is_the_absolute_hash_modulo_the_partitions() -> None:
    assert partition_for("hello", 50) == 22
    assert partition_for("my-consumer-group", 50) == 13
    assert java_string_hash("spark-1") == -2011712191
    assert partition_for("spark-1", 50) == 41


def test_while_nobody_knows_how_many_partitions_there_are_a_key_is_nowhere() -> None:
    assert partition_for("hello", 0) == NOWHERE
