"""The independence of a test from the others that use the broker of a fixture."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from kcompat.errors import SnapshotError, StartError
from kcompat.instrumentation.faults.reports import Condition, FaultReport
from kcompat.testing.sharing import SharedBrokers

if TYPE_CHECKING:
    from kcompat import Broker


class Clearable:
    """Faults that can be cleared."""

    def __init__(self, happened: list[str], what: str) -> None:
        self._happened = happened
        self._what = what

    def clear(self) -> None:
        self._happened.append(self._what)


class Stub:
    """A broker that notes what happens to it."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.is_started = True
        self.breaks: Exception | None = None
        self.faults = Clearable(self.happened, "faults")
        self.disk = Clearable(self.happened, "disk")

    def condition(self) -> Condition:
        return Condition([FaultReport("a failed disk", "caused", 0.0, None, 1, is_of_disk=True)])

    def stop(self) -> None:
        self.happened.append("stop")

    def reset(self) -> None:
        self._do("reset")

    def start(self) -> None:
        self._do("start")
        self.is_started = True

    def _do(self, what: str) -> None:
        self.happened.append(what)
        fault, self.breaks = self.breaks, None
        if fault is not None:
            self.is_started = False
            raise fault


@pytest.fixture
def shared() -> SharedBrokers:
    return SharedBrokers()


@pytest.fixture
def broker() -> Stub:
    return Stub()


def test_faults_end_before_the_reset_for_the_next_test(shared: SharedBrokers, broker: Stub) -> None:
    with shared.sharing("b", cast("Broker", broker), does_reset=True):
        shared.clean("t.py::test_a")
        shared.prepare(["b", "other"])
    assert sorted(broker.happened[:2]) == ["disk", "faults"]
    assert broker.happened[2:] == ["reset"]


def test_brokers_are_reset_once_a_test_that_uses_them(shared: SharedBrokers, broker: Stub) -> None:
    with shared.sharing("b", cast("Broker", broker), does_reset=True):
        shared.prepare(["b"])
        assert broker.happened == []
        shared.clean("t.py::test_a")
        shared.prepare(["other"])
        shared.prepare(["b"])
        shared.prepare(["b"])
    shared.clean("t.py::test_b")
    shared.prepare(["b"])
    assert broker.happened.count("reset") == 1


def test_a_broker_that_a_test_has_stopped_starts_again(shared: SharedBrokers, broker: Stub) -> None:
    with shared.sharing("b", cast("Broker", broker), does_reset=False):
        broker.is_started = False
        shared.clean("t.py::test_a")
        shared.prepare(["b"])
    assert broker.happened == ["start"]


def test_a_broker_without_a_reset_starts_again_if_a_test_took_its_disk(
    shared: SharedBrokers, broker: Stub
) -> None:
    with shared.sharing("b", cast("Broker", broker), does_reset=False):
        shared.clean("t.py::test_a")
        shared.prepare(["b"])
    assert broker.happened[2:] == ["stop", "start"]


def test_a_broker_whose_reset_fails_starts_again(shared: SharedBrokers, broker: Stub) -> None:
    with shared.sharing("b", cast("Broker", broker), does_reset=True):
        shared.clean("t.py::test_a")
        broker.breaks = SnapshotError("the broker could not start again, and is stopped")
        shared.prepare(["b"])
    assert broker.happened[2:] == ["reset", "stop", "start"]


def test_the_test_that_stopped_a_broker_is_named_if_it_cannot_start(
    shared: SharedBrokers, broker: Stub
) -> None:
    with shared.sharing("b", cast("Broker", broker), does_reset=True):
        for test in ("t.py::test_a", "t.py::test_b"):
            broker.is_started = False
            shared.clean(test)
            broker.breaks = StartError("port 9092 is taken")
            with pytest.raises(StartError) as raised:
                shared.prepare(["b"])
            assert str(raised.value) == (
                "b was left stopped by t.py::test_a, and cannot start again: port 9092 is taken"
            )


def test_both_brokers_of_a_fixture_that_is_overridden_are_reset(shared: SharedBrokers, broker: Stub) -> None:
    other = Stub()
    with shared.sharing("b", cast("Broker", broker), does_reset=True):
        with shared.sharing("b", cast("Broker", other), does_reset=True):
            shared.clean("t.py::test_a")
            shared.prepare(["b"])
        shared.clean("t.py::test_b")
        shared.prepare(["b"])
    assert broker.happened.count("reset") == 2
    assert other.happened.count("reset") == 1
