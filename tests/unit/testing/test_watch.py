"""The brokers of a run of pytest: which ones a test may use, and stories that go wrong."""

from __future__ import annotations

from typing import Any

from kcompat.errors import UsageError
from kcompat.instrumentation.faults.reports import Condition
from kcompat.testing.watch import BrokerWatch


class Stub:
    """A broker that runs until it is stopped."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.is_started = True
        self._fault = fault

    @property
    def bootstrap_servers(self) -> str:
        if not self.is_started:
            raise UsageError("the broker is not started")
        return "localhost:1"

    def requests(self, since: float = 0.0) -> list[Any]:
        if self._fault is not None:
            raise self._fault
        return []

    def connection_events(self, since: float = 0.0) -> list[Any]:
        return []

    def condition(self, since: float) -> Condition:
        return Condition()

    now_ms = 0

    def topics(self) -> dict[str, Any]:
        return {}

    def groups(self) -> dict[str, Any]:
        return {}

    def __repr__(self) -> str:
        return "<a broker>"


def test_a_broker_to_which_no_client_came_is_named_if_the_test_uses_it() -> None:
    watch, used, other = BrokerWatch(), Stub(), Stub()
    watch.starting(used)
    watch.starting(other)
    assert watch.stories([]) == []
    assert watch.stories([1, used]) == ["No client sent anything to <a broker> during this test."]


def test_a_broker_that_has_stopped_is_forgotten_when_the_next_test_begins() -> None:
    watch, broker = BrokerWatch(), Stub()
    watch.starting(broker)
    broker.is_started = False
    assert watch.stories([broker]) != []
    watch.test_begins(())
    assert watch.stories([broker]) == []


def test_a_story_that_cannot_be_told_does_not_hide_the_failure() -> None:
    watch = BrokerWatch()
    watch.starting(Stub(ValueError("damaged")))
    assert watch.stories([]) == ["The story of <a broker> cannot be told: ValueError('damaged')"]


def test_a_forked_child_tells_no_story_of_the_broker_of_its_parent() -> None:
    watch = BrokerWatch()
    watch.starting(Stub(UsageError("brokers run in the process that started them")))
    assert watch.stories([]) == []


def test_the_story_of_a_broker_that_stops_by_a_failure_is_that_of_its_last_moment() -> None:
    watch, broker = BrokerWatch(), Stub(ValueError("damaged"))
    watch.starting(broker)
    watch.failing(broker)
    broker.is_started = False
    assert len(watch.stories([])) == 1
