"""The members that hold partitions or tasks, each of which only one member may have at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterable

K = TypeVar("K")
"""A partition, or a task."""


class Holders(Generic[K]):
    """Member ids by what they hold.

    A replay may leave out a record that a later one of the same key replaces, as compaction does. Then the
    record that takes something from one member may come after the one that gives it to another, and records
    of the first that say nothing of it come in between. So a member holds what it did not have before the
    record, and gives up what it has no longer after it; what it seems to have all the while is left as it is.
    """

    def __init__(self) -> None:
        self._members: dict[K, str] = {}

    def __contains__(self, what: K) -> bool:
        return what in self._members

    def get(self, what: K) -> str | None:
        """The member that holds it."""
        return self._members.get(what)

    def changed(self, member_id: str, before: Iterable[K], after: Iterable[K]) -> None:
        """A member has `after`, where it had `before`."""
        had, has = set(before), set(after)
        for what in had - has:
            if self._members.get(what) == member_id:
                del self._members[what]
        for what in has - had:
            self._members[what] = member_id

    def items(self) -> ItemsView[K, str]:
        """Return what is held, each with the id of the member that holds it."""
        return self._members.items()
