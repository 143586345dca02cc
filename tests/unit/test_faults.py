"""Where a fault ends."""

from __future__ import annotations

import asyncio

import pytest

from kcompat.faults import contained


def test_what_is_raised_inside_is_logged_and_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    with contained("a listener"):
        raise ZeroDivisionError("a bug")
    assert "A fault in a listener" in caplog.text
    assert "ZeroDivisionError: a bug" in caplog.text


def test_what_ends_a_task_is_not_held_back() -> None:
    with pytest.raises(asyncio.CancelledError), contained("a task"):
        raise asyncio.CancelledError


def test_nothing_is_said_of_what_goes_well(caplog: pytest.LogCaptureFixture) -> None:
    with contained("a listener"):
        pass
    assert not caplog.records
