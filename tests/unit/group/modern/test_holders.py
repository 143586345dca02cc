"""The holders of partitions after records in the order of the log, of which later ones may replace others."""

from __future__ import annotations

from kcompat.group.modern.holders import Holders


def test_a_member_holds_what_it_was_given_until_that_is_taken() -> None:
    holders: Holders[str] = Holders()
    holders.changed("a", (), ("x", "y"))
    holders.changed("a", ("x", "y"), ("y",))
    assert "x" not in holders
    assert dict(holders.items()) == {"y": "a"}


def test_what_another_has_been_given_since_stays_with_it() -> None:
    """Compaction leaves only the last record of the first member, which follows the record that assigned the
    partition to the other one.
    """
    holders: Holders[str] = Holders()
    holders.changed("a", (), ("x",))
    holders.changed("b", (), ("x",))
    holders.changed("a", ("x",), ())
    assert holders.get("x") == "b"


def test_a_record_that_says_nothing_of_it_changes_nothing() -> None:
    holders: Holders[str] = Holders()
    holders.changed("a", (), ("x",))
    holders.changed("b", (), ("x",))
    holders.changed("a", ("x",), ("x",))
    holders.changed("a", ("x",), ())
    assert holders.get("x") == "b"
