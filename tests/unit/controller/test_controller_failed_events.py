"""An event that cannot be decided fails alone, and at a stop all who wait are refused."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

import pytest

from kcompat.controller.creation import CreateTopics
from kcompat.controller.values import TopicSpec
from kcompat.protocol.errors import ErrorCode
from support.controllers import ControllerFixture, answer

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.controller.state import ControllerState, Decision
    from kcompat.controller.values import TopicResult


class Broken(CreateTopics, frozen=True):
    """An event with bugs: nothing can be decided on it, nor can it be refused."""

    def decide(self, state: ControllerState) -> Decision[list[TopicResult]]:
        raise ZeroDivisionError("decide")

    def refused(self, error: ErrorCode) -> list[TopicResult]:
        raise ZeroDivisionError(f"refused {error.name}")


def broken(*_: object) -> None:
    raise ZeroDivisionError("a callback")


async def test_an_event_that_cannot_be_decided_nor_refused_fails_alone(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        event = Broken([TopicSpec("t", 1, 1)], False, fixture.config.current, Random(1))
        failing = fixture.controller.submit(event)
        behind = fixture.decisions.create_topics([TopicSpec("u", 1, 1)])
        with pytest.raises(ZeroDivisionError, match="refused UNKNOWN_SERVER_ERROR"):
            await answer(failing)
        assert (await answer(behind))[0].error is ErrorCode.NONE


async def test_an_answer_that_raises_does_not_end_the_controller(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        fixture.decisions.create_topics([TopicSpec("t", 1, 1)]).then(broken)
        behind = fixture.decisions.create_topics([TopicSpec("u", 1, 1)])
        assert (await answer(behind))[0].error is ErrorCode.NONE


async def test_all_who_wait_are_refused_at_a_stop_though_one_of_them_raises(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        fixture.decisions.create_topics([TopicSpec("t", 1, 1)])
        await asyncio.sleep(0)  # the event is in hand now
        broken_event = Broken([TopicSpec("u", 1, 1)], False, fixture.config.current, Random(1))
        failing = fixture.controller.submit(broken_event)
        fixture.decisions.create_topics([TopicSpec("v", 1, 1)]).then(broken)
        last = fixture.decisions.create_topics([TopicSpec("w", 1, 1)])
        await fixture.controller.stop()
        assert last.value[0].error is ErrorCode.NOT_CONTROLLER
        late = fixture.controller.submit(broken_event)
        for promise in (failing, late):
            with pytest.raises(ZeroDivisionError, match="refused NOT_CONTROLLER"):
                _ = promise.value


async def test_a_stopped_controller_refuses(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        first = fixture.decisions.create_topics([TopicSpec("t", 1, 1)])
        await asyncio.sleep(0)  # the event is in hand now
        second = fixture.decisions.create_topics([TopicSpec("u", 1, 1)])
        await fixture.controller.stop()
        assert first.value[0].error is ErrorCode.NONE
        assert second.value[0].error is ErrorCode.NOT_CONTROLLER
        assert fixture.decisions.delete_topics(["t"]).value["t"].error is ErrorCode.NOT_CONTROLLER
