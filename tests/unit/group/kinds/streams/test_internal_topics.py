"""Internal topics are asked for once, and what fails is left alone for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.controller.values import USE_DEFAULT, TopicResult, TopicSpec
from kcompat.group.kinds.streams.configured import InternalTopic
from kcompat.group.kinds.streams.internal_topics import InternalTopics
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Sequence

A = {"a": InternalTopic("a", 3)}
B = {"b": InternalTopic("b", 2, 1, (("cleanup.policy", "compact"),))}
BACKOFF_MS = 1_000


class Controller:
    """Makes topics when it is told to."""

    def __init__(self) -> None:
        self.asked: list[Sequence[TopicSpec]] = []
        self._promises: list[Promise[list[TopicResult]]] = []

    def create(self, specs: Sequence[TopicSpec]) -> Promise[list[TopicResult]]:
        self.asked.append(specs)
        self._promises.append(Promise())
        return self._promises[-1]

    def answer(self, error: ErrorCode = ErrorCode.NONE, message: str | None = None) -> None:
        """Answer the oldest question."""
        specs = self.asked[len(self.asked) - len(self._promises)]
        self._promises.pop(0).complete([TopicResult(spec.name, error, message) for spec in specs])

    def break_down(self) -> None:
        """Raise instead of an answer to the oldest question."""
        self._promises.pop(0).fail(ZeroDivisionError("controller"))


@pytest.fixture
def controller() -> Controller:
    return Controller()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def topics(controller: Controller, clock: VirtualClock) -> InternalTopics:
    return InternalTopics(controller.create, clock)


def test_a_topic_is_asked_for_once(topics: InternalTopics, controller: Controller) -> None:
    topics.make(A, BACKOFF_MS)
    topics.make({**A, **B}, BACKOFF_MS)
    assert controller.asked == [
        [TopicSpec("a", 3, USE_DEFAULT)],
        [TopicSpec("b", 2, 1, configs=(("cleanup.policy", "compact"),))],
    ]
    topics.make({**A, **B}, BACKOFF_MS)
    assert len(controller.asked) == 2
    controller.answer()
    topics.make(A, BACKOFF_MS)
    assert len(controller.asked) == 3, "it may have been deleted"


def test_what_fails_is_left_alone_for_a_while(
    topics: InternalTopics, controller: Controller, clock: VirtualClock
) -> None:
    topics.make(A, BACKOFF_MS)
    controller.answer(ErrorCode.POLICY_VIOLATION, "not here")
    assert topics.failures(["a", "b"]) == {"a": "not here"}
    clock.advance(BACKOFF_MS - 1)
    topics.make(A, BACKOFF_MS)
    assert len(controller.asked) == 1
    clock.advance(1)
    assert topics.failures(["a"]) == {}
    topics.make(A, BACKOFF_MS)
    controller.answer(ErrorCode.REQUEST_TIMED_OUT)
    assert topics.failures(["a"]) == {"a": ErrorCode.REQUEST_TIMED_OUT.message}


def test_a_controller_that_breaks_down_is_asked_again_after_a_while(
    topics: InternalTopics, controller: Controller, clock: VirtualClock
) -> None:
    topics.make(A, BACKOFF_MS)
    controller.break_down()
    assert topics.failures(["a"]) == {"a": ErrorCode.UNKNOWN_SERVER_ERROR.message}
    clock.advance(BACKOFF_MS)
    topics.make(A, BACKOFF_MS)
    assert len(controller.asked) == 2
