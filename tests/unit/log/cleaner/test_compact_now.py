"""A compaction that somebody asked for and waits for."""

from __future__ import annotations

from kcompat.log.cleaner.cleaner import Compacted
from kcompat.log.config import CleanerConfig, LogConfig
from support.cleaner_world import CleanerWorld, fill, offsets, put

NOT_COMPACTED = "its cleanup.policy does not contain compact, or its log is offline"


def test_compact_now(world: CleanerWorld) -> None:
    log, plain = world.log("t"), world.log("plain", LogConfig())
    world.config = CleanerConfig(enabled=False, dedupe_buffer_bytes=24 * 3)
    for number in range(10):
        put(log, (f"k{number % 5}", "v"))
    put(plain, ("k", "v"))
    world.cleaner.start()
    before = log.size
    outcomes = world.cleaner.compact([log, plain])
    world.run(1000)
    assert [outcome.value for outcome in outcomes] == [
        Compacted("t", 0, before, log.size),
        Compacted(
            "plain",
            0,
            plain.size,
            plain.size,
            NOT_COMPACTED,
        ),
    ]
    assert offsets(log) == [5, 6, 7, 8, 9]
    assert len(world.jobs) > 1, "the map was too small for one round"
    assert plain.local.segments.base_offsets == [0]


def test_compact_now_says_what_is_wrong(world: CleanerWorld) -> None:
    log = world.log("t")
    fill(log)
    world.files.full = True
    (outcome,) = world.cleaner.compact([log])
    world.run(1000)
    assert "No space left" in str(outcome.value.problem)
    world.files.full = False
    (outcome,) = world.cleaner.compact([log])
    world.cleaner.stop()
    assert outcome.value.problem == "the broker stops"


def test_compact_now_ends_although_producers_go_on(world: CleanerWorld) -> None:
    log = world.log("t")
    fill(log)
    (outcome,) = world.cleaner.compact([log])
    for _ in range(200):
        fill(log, 1)
        world.run(20)
        if outcome.done:
            break
    assert outcome.value.problem is None
