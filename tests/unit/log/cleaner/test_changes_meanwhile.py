"""What happens when a log changes while the cleaner is at it."""

from __future__ import annotations

import msgspec

from kcompat.log.config import LogConfig
from support.cleaner_world import COMPACT, CleanerWorld, fill, leftovers, offsets, put


def test_a_truncation_comes_first(world: CleanerWorld) -> None:
    log = world.log("t")
    fill(log, 3)
    world.cleaner.start()
    log.truncate_to(2)
    put(log, ("k", "v" * 50), ("k", "v" * 50))
    before = log.local.segments.base_offsets
    world.run(1000)
    assert (offsets(log), log.local.segments.base_offsets) == ([0, 1, 2, 3], before)
    assert leftovers(world) == []
    world.run()
    assert offsets(log)[0] > 0


def test_a_truncation_takes_the_clean_offset_back(world: CleanerWorld) -> None:
    log = world.log("t")
    fill(log, 3)
    world.cleaner.start()
    world.run(1000)
    assert world.manager.clean_offset(log) == 6
    log.truncate_to(5)
    assert world.manager.clean_offset(log) == 5
    assert (world.path / "cleaner-offset-checkpoint").read_text() == "0\n1\nt 0 5\n"


def test_retention_comes_first(world: CleanerWorld) -> None:
    config = msgspec.structs.replace(
        COMPACT, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=10
    )
    log = world.log("t", config)
    fill(log, 3)
    world.cleaner.start()
    assert log.delete_old_segments(10**6, 4) == 2
    world.run(1000)
    assert not log.is_failed
    assert offsets(log) == [4, 5]
    world.run()
    assert offsets(log) == [5], "it is cleaned the next time"


def test_a_deleted_log_is_forgotten(world: CleanerWorld) -> None:
    log, other = world.log("t"), world.log("other")
    fill(log, 5, "v" * 500)
    fill(other)
    world.cleaner.start()
    world.manager.delete("t", 0)
    world.run(1000)
    assert world.cleaned() == ["t-0", "other-0"]
    assert offsets(other) == [3]
    fill(world.log("t"))
    world.run()
    assert world.cleaned() == ["t-0", "other-0", "t-0"]


def test_another_policy_ends_a_cleaning(world: CleanerWorld) -> None:
    log = world.log("t")
    fill(log)
    world.cleaner.start()
    log.update_config(LogConfig())
    world.run(1000)
    assert offsets(log) == [0, 1, 2, 3]
    assert leftovers(world) == []
