"""A broker is recorded, file operation by file operation; then it ends before and after each, by a kill and
by a power cut, and another broker starts on what is left, with nobody's help.

`make faults` does that everywhere, `make test-all` at every third place and `make test` at every sixth, with
the same checks.

The scenario is `support.crash_scenario`, the promises `crash_ledger`, the file system `disk`.
"""

from __future__ import annotations

import logging
import os
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from support import disk
from support.crash_scenario import Life, recorded_life
from support.disk import Disk, Fate, PowerCut, Write, torn
from support.revival import revival_of, revived
from support.storage_workers import EagerWorker, LazyWorker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.crash_ledger import Facts

Operations = list[disk.DiskOperation]

pytestmark = pytest.mark.timeout(300)

STEPS = {
    "append and roll",
    "append as follower",
    "clean stop",
    "clean, swap and checkpoints",
    "commit offsets",
    "create partition",
    "create topic",
    "delete records",
    "delete topic",
    "first start",
    "retention and deletion",
    "start after a clean stop",
    "start after a kill",
    "truncate",
}
NAMES = {
    ".index",
    ".log",
    ".log.cleaned",
    ".snapshot.tmp",
    ".timeindex",
    ".txnindex",
    "cleaner-offset-checkpoint.tmp",
    "leader-epoch-checkpoint.tmp",
    "log-start-offset-checkpoint.tmp",
    "meta.properties.tmp",
    "partition.metadata",
    "recovery-point-offset-checkpoint.tmp",
    "replication-offset-checkpoint.tmp",
    ".kafka_cleanshutdown.tmp",
}
RENAMES = {".cleaned -> .swap", ".swap -> .log", ".log -> .deleted", "-0 -> -delete", ".tmp -> -checkpoint"}
LIVES_ON = 12
"""Every so many brokers that start do not only start."""
EVERY = int(os.environ.get("KCOMPAT_EVERY_CRASH", "3"))
"""Before and after every so many operations."""
OFTEN = 4 * EVERY
"""Where it is not every operation even then, every so many."""


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def slow() -> tuple[Life, Operations]:
    return recorded_life(LazyWorker)


@pytest.fixture(scope="module")
def quick() -> tuple[Life, Operations]:
    return recorded_life(EagerWorker)


@pytest.fixture(params=["slow", "quick"])
def recorded(request: Any) -> tuple[Life, Operations]:
    """A life in which the storage thread is slow or quick."""
    life: tuple[Life, Operations] = request.getfixturevalue(request.param)
    return life


class Starts:
    """Brokers that start on one disk after another; the same disk is not tried twice."""

    def __init__(self) -> None:
        self._known: dict[object, Facts] = {}

    def on(self, found: Disk) -> Facts:
        key = (found.zxid, frozenset(found.tree().items()))
        if key not in self._known:
            self._known[key] = revived(found, lives_on=len(self._known) % LIVES_ON == 0)
        return self._known[key]


def test_every_kind_of_file_is_written_renamed_and_removed(recorded: tuple[Life, Operations]) -> None:
    life, operations = recorded
    assert len(operations) > 900
    assert {kind for kind, count in life.kinds.items() if count} >= STEPS
    assert {type(operation) for operation in operations} == set(disk.DiskOperation.__args__)
    created = {operation.path for operation in operations if isinstance(operation, disk.Create)}
    assert [name for name in NAMES if not any(path.endswith(name) for path in created)] == []
    renamed = [
        (operation.source, operation.target) for operation in operations if isinstance(operation, disk.Rename)
    ]
    for kind in RENAMES:
        source, target = kind.split(" -> ")
        assert any(old.endswith(source) and new.endswith(target) for old, new in renamed), kind


def test_a_kill_before_and_after_every_operation(slow: tuple[Life, Operations]) -> None:
    life, operations = slow
    starts = Starts()
    for done in range(0, len(operations) + 1, EVERY):
        life.ledger.check_after_kill(done, starts.on(Disk(operations[:done])))


def test_a_kill_while_the_storage_thread_is_quick(quick: tuple[Life, Operations]) -> None:
    life, operations = quick
    starts = Starts()
    for done in range(1, len(operations) + 1, OFTEN):
        life.ledger.check_after_kill(done, starts.on(Disk(operations[:done])))


def test_a_kill_in_the_middle_of_every_write(slow: tuple[Life, Operations]) -> None:
    life, operations = slow
    starts = Starts()
    writes = [(done, write) for done, write in enumerate(operations) if isinstance(write, Write)]
    for done, write in writes[::EVERY]:
        length = len(write.data)
        size = (1, length // 2, length - 1)[done % 3]
        found = starts.on(torn(operations[: done + 1], size))
        life.ledger.check_after_kill(done, found, in_the_next=True)


@pytest.mark.parametrize("fate", Fate)
def test_a_power_cut_that_no_name_survives(slow: tuple[Life, Operations], fate: Fate) -> None:
    """None that was not synced; bytes that were not synced have one fate."""
    life, operations = slow
    starts = Starts()
    for done in range(1, len(operations) + 1, (2 if fate is Fate.LOST else 6) * EVERY):
        cut = PowerCut(operations[:done])
        life.ledger.check_after_power_cut(done, starts.on(cut.leaves(cut.least, fate)))


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.ZEROS, Fate.HALF])
def test_a_power_cut_that_all_names_survive(slow: tuple[Life, Operations], fate: Fate) -> None:
    """With `Fate.KEPT` it would be a kill."""
    cut_often(slow, fate)


def test_a_power_cut_while_the_storage_thread_is_quick(quick: tuple[Life, Operations]) -> None:
    cut_often(quick, Fate.LOST)


def cut_often(recorded: tuple[Life, Operations], fate: Fate) -> None:
    life, operations = recorded
    starts = Starts()
    for done in range(1 + fate.value % OFTEN, len(operations) + 1, OFTEN):
        cut = PowerCut(operations[:done])
        life.ledger.check_after_power_cut(done, starts.on(cut.leaves(done, fate)))


@pytest.mark.parametrize("seed", range(3))
def test_a_power_cut_that_chooses_file_by_file(recorded: tuple[Life, Operations], seed: int) -> None:
    life, operations = recorded
    for choose in samples(seed, 12):
        done = choose.randint(1, len(operations))
        cut = PowerCut(operations[:done])
        names = choose.choice(cut.name_changes)
        fates = {file: choose.choice(list(Fate)) for file in cut.unsynced}
        facts = revived(cut.leaves(names, fates), lives_on=True)
        life.ledger.check_after_power_cut(done, facts)


@pytest.mark.parametrize("seed", range(2))
def test_a_write_torn_at_any_byte(recorded: tuple[Life, Operations], seed: int) -> None:
    life, operations = recorded
    writes = [(number, write) for number, write in enumerate(operations) if isinstance(write, Write)]
    for choose in samples(seed, 12):
        done, write = choose.choice(writes)
        size = choose.randint(0, len(write.data))
        facts = revived(torn(operations[: done + 1], size), lives_on=True)
        life.ledger.check_after_kill(done, facts, in_the_next=True)


@pytest.mark.parametrize("seed", range(3))
def test_a_crash_while_recovering_from_a_crash(recorded: tuple[Life, Operations], seed: int) -> None:
    life, operations = recorded
    for choose in samples(seed, 12):
        done = choose.randint(1, len(operations))
        recovery, made = revival_of(Disk(operations[:done]))
        again = choose.randint(made, len(recovery))
        left = Disk(recovery[:again])
        if choose.random() < 0.5:
            cut = PowerCut(recovery[:again])
            left = cut.leaves(choose.choice(cut.name_changes), choose.choice(list(Fate)))
        life.ledger.check_after_kill(done, revived(left, lives_on=True))


def samples(seed: int, count: int) -> Iterator[Random]:
    """Numbers for `count` tries; one that fails is found again by what was printed."""
    for number in range(count):
        print(f"seed {seed}, try {number}")
        yield Random(f"{seed} {number}")
