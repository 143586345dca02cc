from __future__ import annotations

import pytest

from support.history import History, Outcome, Polled, Sent, violations

PLACE = ("t", 0)


def sent(
    number: int, outcome: Outcome = Outcome.ACKNOWLEDGED, offset: int | None = None, producer: str = "p"
) -> Sent:
    return Sent(producer, number, PLACE, b"%d" % number, outcome, offset)


def history(sends: list[Sent], final: str, *polls: list[tuple[int, bytes]]) -> History:
    """`final` has the value of each record, one character, at offsets 0, 1, 2, ...; "." stands for none."""
    there = [(offset, value.encode()) for offset, value in enumerate(final) if value != "."]
    return History(sends, [Polled("c", PLACE, poll) for poll in polls], {PLACE: there})


def test_what_was_promised_is_no_violation() -> None:
    sends = [sent(0, offset=0), sent(1, offset=2), sent(2, Outcome.UNKNOWN), sent(3, Outcome.REFUSED)]
    polls = [(0, b"0"), (2, b"1")], [(3, b"2")]
    assert violations(history(sends, "0.12", *polls)) == []


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (history([sent(0)], ""), "was acknowledged and is lost"),
        (history([sent(0, Outcome.REFUSED)], "0"), "was refused and is there"),
        (history([], "7"), "nobody sent b'7'"),
        (history([sent(0)], "00"), "and again at 1"),
        (history([sent(0), sent(1)], "10"), "stands before b'0'"),
        (history([sent(0, offset=1)], "80"[1:] + "0"), "again"),
        (history([sent(0, offset=0), sent(1, offset=0)], "0"), "offset 0 is b'0'"),
        (history([sent(0), sent(1)], "01", [(1, b"1")], [(0, b"0")]), "read 0 after 1"),
        (history([sent(0), sent(1), sent(2)], "012", [(0, b"0"), (2, b"2")]), "never read offset 1"),
        (history([sent(0, Outcome.UNKNOWN)], "", [(0, b"0")]), "which is gone"),
    ],
)
def test_each_broken_promise_is_found(broken: History, sentence: str) -> None:
    assert any(sentence in violation for violation in violations(broken)), violations(broken)


def test_records_of_two_producers_have_no_order() -> None:
    assert violations(history([sent(0, producer="a"), sent(1, producer="b")], "10")) == []


def test_a_producer_that_is_not_idempotent_may_double_and_reorder() -> None:
    assert violations(history([sent(0), sent(1)], "101"), idempotent=False) == []
