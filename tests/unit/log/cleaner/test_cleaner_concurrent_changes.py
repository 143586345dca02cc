"""Changes of a log while it is cleaned."""

from __future__ import annotations

import msgspec

from support.default_settings import log_settings
from support.log_cleaner import COMPACT, CleanerFixture, fill, leftovers, offsets, put


def test_a_truncation_comes_first(fixture: CleanerFixture) -> None:
    log = fixture.log("t")
    fill(log, 3)
    fixture.cleaner.start()
    log.truncate_to(2)
    put(log, ("k", "v" * 50), ("k", "v" * 50))
    before = log.local.segments.base_offsets
    fixture.run(1000)
    assert (offsets(log), log.local.segments.base_offsets) == ([0, 1, 2, 3], before)
    assert leftovers(fixture) == []
    fixture.run()
    assert offsets(log)[0] > 0


def test_a_truncation_takes_the_clean_offset_back(fixture: CleanerFixture) -> None:
    log = fixture.log("t")
    fill(log, 3)
    fixture.cleaner.start()
    fixture.run(1000)
    assert fixture.manager.clean_offset(log) == 6
    log.truncate_to(5)
    assert fixture.manager.clean_offset(log) == 5
    assert (fixture.path / "cleaner-offset-checkpoint").read_text() == "0\n1\nt 0 5\n"


def test_retention_comes_first(fixture: CleanerFixture) -> None:
    config = msgspec.structs.replace(
        COMPACT, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=10
    )
    log = fixture.log("t", config)
    fill(log, 3)
    fixture.cleaner.start()
    assert log.delete_old_segments(10**6, 4) == 2
    fixture.run(1000)
    assert not log.is_failed
    assert offsets(log) == [4, 5]
    fixture.run()
    assert offsets(log) == [5], "it is cleaned the next time"


def test_a_deleted_log_is_forgotten(fixture: CleanerFixture) -> None:
    log, other = fixture.log("t"), fixture.log("other")
    fill(log, 5, "v" * 500)
    fill(other)
    fixture.cleaner.start()
    fixture.manager.delete("t", 0)
    fixture.run(1000)
    assert fixture.cleaned() == ["t-0", "other-0"]
    assert offsets(other) == [3]
    fill(fixture.log("t"))
    fixture.run()
    assert fixture.cleaned() == ["t-0", "other-0", "t-0"]


def test_another_policy_ends_a_cleaning(fixture: CleanerFixture) -> None:
    log = fixture.log("t")
    fill(log)
    fixture.cleaner.start()
    log.update_config(log_settings())
    fixture.run(1000)
    assert offsets(log) == [0, 1, 2, 3]
    assert leftovers(fixture) == []
