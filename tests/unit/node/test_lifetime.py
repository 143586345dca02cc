from __future__ import annotations

import asyncio

import pytest

from kcompat.node.lifetime import Lifetime


def lifetime(told: list[str]) -> Lifetime:
    parts = Lifetime()

    async def stop_later() -> None:
        await asyncio.sleep(0)
        told.append("stop second")

    parts.began(lambda: told.append("stop first"), lambda: told.append("kill first"))
    parts.began(stop_later)
    parts.began(lambda: told.append("stop third"), lambda: told.append("kill third"))
    return parts


def test_the_last_part_is_stopped_first() -> None:
    told: list[str] = []
    asyncio.run(lifetime(told).end())
    assert told == ["stop third", "stop second", "stop first"]


def test_a_part_that_says_no_way_to_be_killed_is_left_alone() -> None:
    told: list[str] = []
    lifetime(told).abandon()
    assert told == ["kill third", "kill first"]


def test_a_part_is_ended_once() -> None:
    told: list[str] = []
    parts = lifetime(told)
    parts.abandon()
    asyncio.run(parts.end())
    assert told == ["kill third", "kill first"]


def test_a_kill_that_raises_spares_no_other(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    parts = lifetime(told)

    def fail() -> None:
        raise ValueError("stuck")

    parts.began(lambda: None, fail)
    parts.abandon()
    assert told == ["kill third", "kill first"]
    assert "the abandonment of a broker" in caplog.text


def test_a_part_that_fails_spares_no_other() -> None:
    told: list[str] = []
    parts = lifetime(told)

    def fail() -> None:
        raise ValueError("stuck")

    parts.began(fail)
    with pytest.raises(ValueError, match="stuck"):
        asyncio.run(parts.end())
    assert told == ["stop third", "stop second", "stop first"]


def test_a_part_whose_end_is_no_longer_waited_for_spares_no_other() -> None:
    told: list[str] = []
    parts = lifetime(told)
    parts.began(asyncio.Event().wait)

    async def give_up() -> None:
        await asyncio.wait_for(parts.end(), timeout=0.01)

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert told == ["stop third", "stop second", "stop first"]
