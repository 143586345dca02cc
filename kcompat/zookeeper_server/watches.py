"""Watches on nodes. Pure: returns the watchers to notify of a change, and removes watches that are used up.

A watch is one of these: a data watch (set by `exists` and `getData`) or a child watch (`getChildren`), which
both report one change; a persistent watch; or a persistent recursive watch, which also reports changes of
every node below.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import IntEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from kcompat.store.interface import EventType, parent_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

W = TypeVar("W", bound=Hashable)


class WatchKind(IntEnum):
    """Kinds of watches. The codes of the last two are the modes of ZooKeeper's `addWatch`."""

    PERSISTENT = 0
    RECURSIVE = 1
    DATA = 2
    CHILD = 3


_ONE_SHOT = (WatchKind.DATA, WatchKind.CHILD)
_NOTIFIED_KINDS = {
    EventType.CREATED: (WatchKind.DATA, WatchKind.PERSISTENT, WatchKind.RECURSIVE),
    EventType.DELETED: (WatchKind.DATA, WatchKind.CHILD, WatchKind.PERSISTENT, WatchKind.RECURSIVE),
    EventType.CHANGED: (WatchKind.DATA, WatchKind.PERSISTENT, WatchKind.RECURSIVE),
    EventType.CHILDREN_CHANGED: (WatchKind.CHILD, WatchKind.PERSISTENT),
}


class WatchTable(Generic[W]):
    """The watches of all watchers, which are the connections of a server."""

    def __init__(self) -> None:
        self._by_path: dict[WatchKind, dict[str, dict[W, None]]] = {kind: {} for kind in WatchKind}
        self._of: dict[W, set[tuple[WatchKind, str]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, watcher: W, kind: WatchKind, path: str) -> None:
        """Add a watch of one kind on a path."""
        self._by_path[kind].setdefault(path, {})[watcher] = None
        self._of.setdefault(watcher, set()).add((kind, path))

    def has(self, watcher: W, kind: WatchKind, path: str) -> bool:
        """Return whether the watcher has a watch of this kind on this path."""
        return (kind, path) in self._of.get(watcher, ())

    def remove(self, watcher: W, kind: WatchKind, path: str) -> bool:
        """Remove a watch; return False if it was not set."""
        if not self.has(watcher, kind, path):
            return False
        self._forget(watcher, kind, path)
        return True

    def remove_all(self, watcher: W) -> None:
        """Remove all watches of a closed connection."""
        for kind, path in tuple(self._of.get(watcher, ())):
            self._forget(watcher, kind, path)

    def trigger(self, event: EventType, path: str) -> list[W]:
        """Return the watchers to notify of a change, each once; one-time watches among theirs are removed."""
        notified: dict[W, None] = {}
        for kind in _NOTIFIED_KINDS[event]:
            paths = self._by_path[kind]
            for watched in _with_parents(path) if kind is WatchKind.RECURSIVE and paths else (path,):
                watchers = paths.get(watched)
                if not watchers:
                    continue
                notified.update(watchers)
                if kind in _ONE_SHOT:
                    for watcher in tuple(watchers):
                        self._forget(watcher, kind, watched)
        return list(notified)

    def by_watcher(self) -> Mapping[W, set[str]]:
        """Return the watched paths by watcher."""
        return {watcher: {path for _, path in watches} for watcher, watches in self._of.items()}

    def _forget(self, watcher: W, kind: WatchKind, path: str) -> None:
        watchers = self._by_path[kind][path]
        del watchers[watcher]
        if not watchers:
            del self._by_path[kind][path]
        watches = self._of[watcher]
        watches.discard((kind, path))
        if not watches:
            del self._of[watcher]


def _with_parents(path: str) -> Iterator[str]:
    yield path
    while path != "/":
        path = parent_of(path)
        yield path
