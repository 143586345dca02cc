"""Mappings whose latest state follows the log end and whose committed state follows the high watermark.

A coordinator replays a record as soon as it is appended, so that the next operation builds on it; but readers
must see it only once it is committed. A `TimelineDict` keeps, for each key with uncommitted changes, the
values to go back to; a `Timeline` remembers in log order which keys those are. Once everything is committed
nothing extra is kept, nor while a shard is loaded: nobody reads it then. Kafka's counterparts:
`TimelineHashMap` and `SnapshotRegistry`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

K = TypeVar("K")
V = TypeVar("V")


class Timeline:
    """The uncommitted changes of all mappings of one shard, in log order."""

    __slots__ = ("_changes", "is_loading")

    def __init__(self, *, is_loading: bool = False) -> None:
        self.is_loading = is_loading
        """Whether all that is changed is what readers will see, without a way back; until `loaded`."""
        self._changes: deque[tuple[int, TimelineDict[Any, Any], Any]] = deque()

    def note(self, offset: int, mapping: TimelineDict[Any, Any], key: Any) -> None:
        """`key` of `mapping` was changed by the record at `offset`."""
        self._changes.append((offset, mapping, key))

    def loaded(self) -> None:
        """Begin to show readers only committed values."""
        self.is_loading = False

    def commit(self, offset: int) -> None:
        """Make the changes up to `offset` visible to readers."""
        changes = self._changes
        while changes and changes[0][0] <= offset:
            _, mapping, key = changes.popleft()
            mapping.forget_oldest(key)


class TimelineDict(Generic[K, V]):
    """A dict with a latest and a committed view."""

    __slots__ = ("_latest", "_timeline", "_undo")

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._latest: dict[K, V] = {}
        self._undo: dict[K, deque[V | None]] = {}

    def __len__(self) -> int:
        return len(self._latest)

    def get(self, key: K) -> V | None:
        """The latest value."""
        return self._latest.get(key)

    @property
    def latest(self) -> Mapping[K, V]:
        """The latest items, as they are whenever they are looked at."""
        return self._latest

    def items(self) -> Iterator[tuple[K, V]]:
        """The latest items."""
        return iter(self._latest.items())

    def keys(self) -> Iterator[K]:
        """The latest keys."""
        return iter(self._latest)

    def values(self) -> Iterator[V]:
        """The latest values."""
        return iter(self._latest.values())

    def filling(self) -> dict[K, V]:
        """The items, for who loads the shard to change: whatever they are then is what readers will see."""
        assert self._timeline.is_loading, "changes are followed"
        return self._latest

    def set(self, key: K, value: V | None, offset: int) -> None:
        """Change a key by the record at `offset`; None removes it."""
        previous = self._latest.get(key)
        if value is None:
            self._latest.pop(key, None)
        else:
            self._latest[key] = value
        if not self._timeline.is_loading:
            self._undo.setdefault(key, deque()).append(previous)
            self._timeline.note(offset, self, key)

    def committed(self, key: K) -> V | None:
        """The value that readers may see."""
        undo = self._undo.get(key)
        return undo[0] if undo else self._latest.get(key)

    def committed_items(self) -> Iterator[tuple[K, V]]:
        """The items that readers may see."""
        if not self._undo:
            yield from self._latest.items()
            return
        for key in {**self._latest, **dict.fromkeys(self._undo)}:
            value = self.committed(key)
            if value is not None:
                yield key, value

    def is_pending(self, key: K) -> bool:
        """Whether the key has changes that are not committed yet."""
        return key in self._undo

    @property
    def has_pending(self) -> bool:
        """Whether any key has changes that are not committed yet."""
        return bool(self._undo)

    def forget_oldest(self, key: K) -> None:
        """The oldest uncommitted change of `key` is committed (called by the timeline)."""
        undo = self._undo[key]
        undo.popleft()
        if not undo:
            del self._undo[key]
