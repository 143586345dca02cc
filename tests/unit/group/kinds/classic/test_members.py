"""The topics that the members of a classic group subscribe to, read from the metadata of their joins."""

from __future__ import annotations

import pytest

from kcompat.group.kinds.classic.members import subscribed_topics

T1 = bytes.fromhex("0000 00000001 0002 7431 ffffffff")
NEWER = bytes.fromhex("0063 00000002 0002 7431 0002 7432 00000001 aa") + b"what later versions add"


def test_topics_of_all_members() -> None:
    assert subscribed_topics([T1, NEWER]) == frozenset({"t1", "t2"})
    assert subscribed_topics([]) == frozenset()


@pytest.mark.parametrize(
    "damaged", [b"", b"\0", bytes.fromhex("0000 00000001 0009 7431"), bytes.fromhex("0000 7fffffff")]
)
def test_one_that_cannot_be_read_makes_all_unknown(damaged: bytes) -> None:
    assert subscribed_topics([T1, damaged]) is None
