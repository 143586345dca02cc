"""Mappings whose latest state follows the log end, and whose committed state follows the high watermark.

A coordinator replays a record as soon as it is appended, so that the next operation builds on it; readers
must see it only once it is committed. A `TimelineDict` keeps the former values of each key with uncommitted
changes; a `Timeline` remembers these keys in log order. No former values are kept once everything is
committed, nor while a shard is loaded, when it has no readers. Kafka's counterparts: `TimelineHashMap` and
`SnapshotRegistry`.
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
        """Whether the shard is being loaded: it has no readers yet, and no former values are kept."""
        self._changes: deque[tuple[int, TimelineDict[Any, Any], Any]] = deque()

    def note(self, offset: int, mapping: TimelineDict[Any, Any], key: Any) -> None:
        """Record that the log record at `offset` changed `key` of `mapping`."""
        self._changes.append((offset, mapping, key))

    def loaded(self) -> None:
        """Begin to keep former values, so that readers see only committed ones."""
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
        """Return the latest value of a key, or None."""
        return self._latest.get(key)

    @property
    def latest(self) -> Mapping[K, V]:
        """Read-only view of the latest items."""
        return self._latest

    def items(self) -> Iterator[tuple[K, V]]:
        """Return the latest items."""
        return iter(self._latest.items())

    def keys(self) -> Iterator[K]:
        """Return the latest keys."""
        return iter(self._latest)

    def values(self) -> Iterator[V]:
        """Return the latest values."""
        return iter(self._latest.values())

    def filling(self) -> dict[K, V]:
        """Return the dict of latest values for direct changes while the shard is loaded, without former
        values.
        """
        assert self._timeline.is_loading, "changes are followed"
        return self._latest

    def set(self, key: K, value: V | None, offset: int) -> None:
        """Set a key to the value of the record at `offset`; None removes the key."""
        previous = self._latest.get(key)
        if value is None:
            self._latest.pop(key, None)
        else:
            self._latest[key] = value
        if not self._timeline.is_loading:
            self._undo.setdefault(key, deque()).append(previous)
            self._timeline.note(offset, self, key)

    def committed(self, key: K) -> V | None:
        """Return the committed value of a key, or None."""
        undo = self._undo.get(key)
        return undo[0] if undo else self._latest.get(key)

    def committed_items(self) -> Iterator[tuple[K, V]]:
        """Yield the committed items."""
        if not self._undo:
            yield from self._latest.items()
            return
        for key in {**self._latest, **dict.fromkeys(self._undo)}:
            value = self.committed(key)
            if value is not None:
                yield key, value

    def is_pending(self, key: K) -> bool:
        """Return whether the key has uncommitted changes."""
        return key in self._undo

    @property
    def has_pending(self) -> bool:
        """Whether any key has uncommitted changes."""
        return bool(self._undo)

    def forget_oldest(self, key: K) -> None:
        """Forget the former value of the key's oldest uncommitted change, which the timeline has
        committed.
        """
        undo = self._undo[key]
        undo.popleft()
        if not undo:
            del self._undo[key]
