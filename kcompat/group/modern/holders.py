"""Owners of partitions or tasks, each of which only one member may have at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterable

K = TypeVar("K")
"""Partition or task."""


class Holders(Generic[K]):
    """Owner of each partition or task, by member id.

    A replay may leave out a record that a later one of the same key replaces, as compaction does. The record
    that takes a partition from one member may then follow the record that gives it to another, with records
    of the first member in between. So a record gives a member only partitions that it did not have before the
    record, and takes only those that it no longer has after it.
    """

    def __init__(self) -> None:
        self._members: dict[K, str] = {}

    def __contains__(self, what: K) -> bool:
        return what in self._members

    def get(self, what: K) -> str | None:
        """Return the member that holds a partition or task."""
        return self._members.get(what)

    def changed(self, member_id: str, before: Iterable[K], after: Iterable[K]) -> None:
        """Record that a member has `after` in place of `before`."""
        had, has = set(before), set(after)
        for what in had - has:
            if self._members.get(what) == member_id:
                del self._members[what]
        for what in has - had:
            self._members[what] = member_id

    def items(self) -> ItemsView[K, str]:
        """Return each held partition or task with the id of its member."""
        return self._members.items()
