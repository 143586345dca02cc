"""Who holds what, after records that come in the order of the log or were left out for later ones."""

from __future__ import annotations

from kcompat.group.modern.holders import Holders


def test_a_member_holds_what_it_was_given_until_that_is_taken() -> None:
    holders: Holders[str] = Holders()
    holders.changed("a", (), ("x", "y"))
    holders.changed("a", ("x", "y"), ("y",))
    assert "x" not in holders
    assert dict(holders.items()) == {"y": "a"}


def test_what_another_has_been_given_since_stays_with_it() -> None:
    """Of what took it from the first one only the last record is replayed, behind the one that gave it."""
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
