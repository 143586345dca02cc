from __future__ import annotations

import pytest

from support.eventually import Patience, eventually, slowness


def test_eventually_returns_the_first_value_that_is_true() -> None:
    values = iter([0, None, "", 7])
    assert eventually(lambda: next(values), poll_s=0) == 7


def test_eventually_fails_with_its_reason() -> None:
    with pytest.raises(AssertionError, match="waited in vain: three came"):
        eventually(lambda: False, lambda: "three came", timeout_s=0)


def test_patience_of_no_seconds_is_over_at_once() -> None:
    assert not Patience(0).lasts


def test_patience_lasts_at_least_its_seconds() -> None:
    assert Patience(3600).lasts


def test_a_machine_is_never_faster_than_alone() -> None:
    assert slowness() >= 1
