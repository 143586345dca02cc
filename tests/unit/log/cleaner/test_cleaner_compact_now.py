"""A compaction that somebody asked for and waits for."""

from __future__ import annotations

from kcompat.log.cleaner.cleaner import Compacted
from support.default_settings import cleaner_settings, log_settings
from support.log_cleaner import CleanerFixture, fill, offsets, put

NOT_COMPACTED = "its cleanup.policy does not contain compact, or its log is offline"


def test_compact_now(fixture: CleanerFixture) -> None:
    log, plain = fixture.log("t"), fixture.log("plain", log_settings())
    fixture.config = cleaner_settings(enabled=False, dedupe_buffer_bytes=24 * 3)
    for number in range(10):
        put(log, (f"k{number % 5}", "v"))
    put(plain, ("k", "v"))
    fixture.cleaner.start()
    before = log.size
    outcomes = fixture.cleaner.compact([log, plain])
    fixture.run(1000)
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
    assert len(fixture.jobs) > 1, "the map was too small for one round"
    assert plain.local.segments.base_offsets == [0]


def test_compact_now_says_what_is_wrong(fixture: CleanerFixture) -> None:
    log = fixture.log("t")
    fill(log)
    fixture.files.full = True
    (outcome,) = fixture.cleaner.compact([log])
    fixture.run(1000)
    assert "No space left" in str(outcome.value.problem)
    fixture.files.full = False
    (outcome,) = fixture.cleaner.compact([log])
    fixture.cleaner.stop()
    assert outcome.value.problem == "the broker stops"


def test_compact_now_ends_although_producers_go_on(fixture: CleanerFixture) -> None:
    log = fixture.log("t")
    fill(log)
    (outcome,) = fixture.cleaner.compact([log])
    for _ in range(200):
        fill(log, 1)
        fixture.run(20)
        if outcome.done:
            break
    assert outcome.value.problem is None
