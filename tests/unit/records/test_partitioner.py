from __future__ import annotations

import pytest

from kcompat.records.partitioner import murmur2, partition_for_key


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hashes_are_those_of_kafkas_own_test(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected & 0xFFFFFFFF


def test_a_negative_hash_is_made_positive_as_java_does() -> None:
    assert partition_for_key(b"21", 10) == (-973932308 & 0x7FFFFFFF) % 10
