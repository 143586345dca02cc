"""The hash of topic metadata is XXH3: numbers of the reference implementation at each length that counts."""

from __future__ import annotations

import pytest

from kcompat.group.modern.xxh3 import xxh3_64


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, 3244421341483603138),
        (1, -4302098779834749733),
        (3, -4375086123124740706),
        (4, -3182342801937314167),
        (8, -5148196600006350464),
        (9, 245602082024904742),
        (16, -7088041056029983202),
        (17, -915289979429514543),
        (128, 7346429547323666821),
        (129, 2884094242154568485),
        (240, 5266862303063109335),
        (241, 6060465359239009000),
        (1024, -2568512991238798245),
        (1025, -2172479308038689242),
        (5000, 7691739032141375328),
    ],
)
def test_each_way_of_hashing(size: int, expected: int) -> None:
    assert xxh3_64(bytes(index * 7 & 255 for index in range(size))) == expected
