"""Names of topics as commands select them."""

from __future__ import annotations

import pytest

from kcompat.admin.errors import JavaError
from kcompat.commands.topic_names import matching

NAMES = ["__consumer_offsets", "a", "ab", "b"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, NAMES),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("a.*", ["a", "ab"]),
        ('"a | b"', ["a", "b"]),
        ("nothing", []),
    ],
)
def test_a_list_or_a_regular_expression(text: str | None, found: list[str]) -> None:
    assert matching(NAMES, text, internal=True) == found


def test_internal_topics_can_be_left_out() -> None:
    assert matching(NAMES, None, internal=False) == ["a", "ab", "b"]


def test_an_invalid_expression_is_refused() -> None:
    with pytest.raises(JavaError, match=r"\* is an invalid regex\."):
        matching(NAMES, "*", internal=True)
