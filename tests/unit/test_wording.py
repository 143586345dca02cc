"""Misspelt names, and the escapes of characters that do not print."""

from __future__ import annotations

import pytest

from kcompat.wording import meant_name, printable


@pytest.mark.parametrize(
    ("written", "known", "meant"),
    [
        ("num.partitons", ["log.retention.ms", "num.partitions"], "num.partitions"),
        ("NUM_PARTITIONS", ["num.partitions"], "num.partitions"),
        ("NOT_LEADER", ["NOT_COORDINATOR", "NOT_LEADER_OR_FOLLOWER"], "NOT_LEADER_OR_FOLLOWER"),
        (["Produce"], ["Fetch", "Produce"], "Produce"),
        ("order", ["payments", "orders"], "orders"),
        ("log.retention.hours", ["log.retention.bytes"], None),
        ("log", ["log.retention.bytes"], None),
        ("", ["orders"], None),
    ],
)
def test_a_name_stands_for_the_known_one_of_nearly_the_same_letters(
    written: object, known: list[str], meant: str | None
) -> None:
    assert meant_name(written, known) == meant


def test_only_characters_that_do_not_print_are_escaped() -> None:
    assert printable("Grüße an t-0 \\n") == "Grüße an t-0 \\n"
    assert printable("a\x1b[2J\r\nb\x9b\u202e\ud800") == "a\\x1b[2J\\r\\nb\\x9b\\u202e\\ud800"
    assert printable(printable("\n")) == "\\n"
