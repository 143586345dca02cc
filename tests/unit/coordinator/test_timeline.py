"""Mappings with a latest and a committed view."""

from __future__ import annotations

from kcompat.coordinator.timeline import Timeline, TimelineDict


def test_readers_see_a_change_once_it_is_committed() -> None:
    timeline = Timeline()
    mapping: TimelineDict[str, int] = TimelineDict(timeline)
    mapping.set("a", 1, offset=0)
    assert mapping.get("a") == 1
    assert mapping.committed("a") is None
    assert mapping.is_pending("a")
    timeline.commit(0)
    assert mapping.committed("a") == 1
    assert not mapping.has_pending


def test_each_change_is_uncovered_in_log_order() -> None:
    timeline = Timeline()
    mapping: TimelineDict[str, int] = TimelineDict(timeline)
    mapping.set("a", 1, offset=0)
    mapping.set("a", 2, offset=1)
    mapping.set("a", None, offset=2)
    assert len(mapping) == 0
    seen = []
    for offset in range(3):
        timeline.commit(offset)
        seen.append(mapping.committed("a"))
    assert seen == [1, 2, None]
    assert dict(mapping.committed_items()) == {}


def test_committed_items_hold_what_an_uncommitted_tombstone_removes() -> None:
    timeline = Timeline()
    mapping: TimelineDict[str, int] = TimelineDict(timeline)
    mapping.set("kept", 1, offset=0)
    mapping.set("removed", 2, offset=1)
    timeline.commit(1)
    mapping.set("removed", None, offset=2)
    mapping.set("new", 3, offset=3)
    assert dict(mapping.items()) == {"kept": 1, "new": 3}
    assert dict(mapping.committed_items()) == {"kept": 1, "removed": 2}


def test_mappings_of_one_timeline_commit_together() -> None:
    timeline = Timeline()
    first: TimelineDict[str, int] = TimelineDict(timeline)
    second: TimelineDict[str, int] = TimelineDict(timeline)
    first.set("a", 1, offset=5)
    second.set("b", 2, offset=6)
    timeline.commit(5)
    assert first.committed("a") == 1
    assert second.committed("b") is None


def test_while_a_shard_is_loaded_there_is_no_way_back() -> None:
    timeline = Timeline(is_loading=True)
    values: TimelineDict[str, int] = TimelineDict(timeline)
    values.set("a", 1, 10)
    values.set("a", 2, 11)
    assert values.committed("a") == 2
    assert not values.has_pending
    timeline.loaded()
    values.set("a", 3, 12)
    assert values.committed("a") == 2
    timeline.commit(12)
    assert values.committed("a") == 3
