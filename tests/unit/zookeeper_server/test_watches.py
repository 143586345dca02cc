from __future__ import annotations

import pytest

from kcompat.store.interface import EventType
from kcompat.zookeeper_server.watches import WatchKind, WatchTable

CREATED, DELETED = EventType.CREATED, EventType.DELETED
CHANGED, CHILDREN = EventType.CHANGED, EventType.CHILDREN_CHANGED


@pytest.mark.parametrize(
    ("kind", "heard"),
    [
        (WatchKind.DATA, {CREATED, DELETED, CHANGED}),
        (WatchKind.CHILD, {DELETED, CHILDREN}),
        (WatchKind.PERSISTENT, {CREATED, DELETED, CHANGED, CHILDREN}),
        (WatchKind.RECURSIVE, {CREATED, DELETED, CHANGED}),
    ],
)
def test_which_changes_a_watch_hears_and_whether_that_uses_it_up(
    kind: WatchKind, heard: set[EventType]
) -> None:
    for event in (CREATED, DELETED, CHANGED, CHILDREN):
        table: WatchTable[str] = WatchTable()
        table.add("me", kind, "/a")
        assert table.trigger(event, "/b") == table.trigger(event, "/ab") == []
        expected = ["me"] if event in heard else []
        assert table.trigger(event, "/a") == expected
        is_used_up = kind in (WatchKind.DATA, WatchKind.CHILD) and event in heard
        assert table.has("me", kind, "/a") is not is_used_up
        assert len(table) == (not is_used_up)


def test_a_watcher_is_told_once_of_a_deletion_and_all_its_one_shot_watches_are_used_up() -> None:
    table: WatchTable[str] = WatchTable()
    for kind in WatchKind:
        table.add("me", kind, "/a")
    table.add("you", WatchKind.CHILD, "/a")
    assert sorted(table.trigger(DELETED, "/a")) == ["me", "you"]
    assert table.by_watcher() == {"me": {"/a"}}
    assert len(table) == 2


def test_a_recursive_watch_hears_of_every_node_below() -> None:
    table: WatchTable[str] = WatchTable()
    table.add("all", WatchKind.RECURSIVE, "/")
    table.add("some", WatchKind.RECURSIVE, "/a")
    table.add("one", WatchKind.PERSISTENT, "/a")
    assert sorted(table.trigger(CHANGED, "/a/b/c")) == ["all", "some"]
    assert table.trigger(CREATED, "/ab") == ["all"]
    assert table.trigger(CHILDREN, "/a") == ["one"]


def test_watches_are_taken_back_one_by_one_or_with_their_watcher() -> None:
    table: WatchTable[str] = WatchTable()
    table.add("me", WatchKind.DATA, "/a")
    table.add("me", WatchKind.DATA, "/a")
    table.add("me", WatchKind.RECURSIVE, "/b")
    table.add("you", WatchKind.DATA, "/a")
    assert len(table) == 3
    assert table.remove("me", WatchKind.DATA, "/a")
    assert not table.remove("me", WatchKind.DATA, "/a")
    assert table.trigger(CHANGED, "/a") == ["you"]
    table.remove_all("me")
    table.remove_all("me")
    assert len(table) == 0
    assert table.trigger(CREATED, "/b/c") == []
