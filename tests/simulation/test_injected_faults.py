"""An exception at one place after another of a broker under load costs at most the request or the partition
that it is met in; the broker serves on, and loses nothing that it has acknowledged.

`make test` tries one place of each kind, `make faults` a thousand.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from support.fault_clients import EXTRA
from support.fault_scenario import KEPT, Trial
from support.recorded_files import memory_directory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.fault_clients import Failure, Partition

pytestmark = pytest.mark.timeout(3600)

KINDS = [
    "callback",
    "code",
    "decision",
    "file",
    "handler",
    "listener",
    "map",
    "random",
    "store",
    "timer",
    "waiter",
    "work",
]
NOBODYS = ("callback", "listener", "timer", "waiter", "work")
"""Kinds of places that belong to no request: each comes beside, or behind, what requests wait for."""
WANTED = int(os.environ.get("KCOMPAT_INJECTED_FAULTS", "125"))
"""How many exceptions to inject."""


def tried(at: int | None) -> tuple[Trial, set[str]]:
    """A trial that has held to its promises, and the timers that were left."""
    with memory_directory() as home:
        trial = Trial(home, at)
        timers = asyncio.run(_tried(trial))
    return trial, timers


async def _tried(trial: Trial) -> set[str]:
    await trial.run()
    timers = trial.timers()
    offline = trial.offline()
    assert not offline or trial.injector.has_bad_disk
    if trial.injector.raised_at.partition(":")[0] in NOBODYS:
        assert not trial.ledger.failures, trial.ledger.failures
    assert_contained(trial.ledger.failures, offline)
    after = await trial.serve_on(offline)
    assert all(failure.about & offline for failure in after.failures), after.failures
    await assert_nothing_is_lost(trial)
    return timers


def assert_contained(failures: Iterable[Failure], offline: set[Partition]) -> None:
    """All that failed was one request, or about one partition, or about those of one bad disk."""
    others = [
        failure
        for failure in failures
        if not failure.about & offline and not (offline and (EXTRA, 0) in failure.about)
    ]
    if len(others) > 1:
        assert frozenset.intersection(*(failure.about for failure in others)), others


async def assert_nothing_is_lost(trial: Trial) -> None:
    """After a kill and a start, all that was acknowledged is there."""
    clients = await trial.revive()

    async def look() -> None:
        for partition, records in trial.ledger.records.items():
            if partition[0] in KEPT:
                found = await clients.read_all(partition)
                missing = {offset: value for offset, value in records.items() if found.get(offset) != value}
                assert not missing, (partition, missing)
        for (group, partition), offset in trial.ledger.commits.items():
            assert await clients.committed(group, partition) == offset, (group, partition)

    await clients.run(look())
    assert not clients.ledger.failures
    await trial.fixture.stop()


def chosen(names: list[str], count: int) -> list[int]:
    """Numbers of `count` places: the first of each kind, then some of all, evenly spread."""
    first = {name: number for number, name in reversed(list(enumerate(names)))}
    numbers = set(first.values())
    if count < len(numbers):
        kinds = sorted(numbers)
        return kinds[:: -(-len(kinds) // count)]
    others = [number for number in range(len(names)) if number not in numbers]
    step = max(1, len(others) // max(1, count - len(numbers)))
    return sorted([*numbers, *others[::step]])


@pytest.fixture(scope="module")
def recorded() -> tuple[list[str], set[str]]:
    """The places that a run without an exception comes by, and the timers that it leaves."""
    trial, timers = tried(None)
    assert not trial.ledger.failures, trial.ledger.failures
    assert trial.ledger.records
    assert len(trial.ledger.commits) == 3
    return trial.injector.names, timers


def test_the_load_comes_by_places_of_all_kinds(recorded: tuple[list[str], set[str]]) -> None:
    names, _ = recorded
    kinds = Counter(name.partition(":")[0] for name in names)
    assert sorted(kinds) == KINDS
    assert len(names) >= 1000


def test_a_run_is_the_same_each_time(recorded: tuple[list[str], set[str]]) -> None:
    assert tried(None)[0].injector.names == recorded[0]


def test_an_exception_costs_its_request_or_its_partition(recorded: tuple[list[str], set[str]]) -> None:
    names, timers = recorded
    broken = {}
    for number in chosen(names, WANTED):
        try:
            trial, left = tried(number)
            assert trial.injector.names[: number + 1] == names[: number + 1]
            assert timers <= left, "what comes again comes no more"
        except Exception as error:
            broken[f"{number}: {names[number]}"] = repr(error)
    assert not broken
