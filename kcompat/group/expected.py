"""Members that are about to join: who asks where a group is coordinated mostly joins it next.

Where `group.initial.rebalance.delay.ms` is 0, the first member of a group need not wait, unless others are
known to be on their way. They would miss the first generation by a few milliseconds, and its members hear of
the next one with their heartbeats alone, seconds later.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kcompat.net.answers import Connection

EXPECTED_FOR_MS: Final = 1000
"""From the question to the join. Clients take up to some 150 ms for that; tools that ask never join."""


class ExpectedMembers:
    """Connections on which a client has asked for a group's coordinator, and not joined the group since.

    A client may join on another connection than the one it asks on, so any join is taken for that of the
    first who asked.
    """

    def __init__(self) -> None:
        self._asked: dict[str, dict[Connection, int]] = {}
        """Time in ms of each connection's FindCoordinator, by group, the latest last."""
        self._group_of: dict[Connection, str] = {}
        """The group that each connection has asked about last."""

    def note_question(self, connection: Connection, group_id: str, now_ms: int) -> None:
        """Note that the client of a connection has asked for the coordinator of a group."""
        before = self._group_of.get(connection)
        if before == group_id:
            return
        if before is not None:
            self._drop(connection)
        self._group_of[connection] = group_id
        self._asked.setdefault(group_id, {})[connection] = now_ms
        if before is None:
            connection.when_closed(partial(self._closed, connection))

    def note_join(self, group_id: str) -> None:
        """Note that a new member has joined the group."""
        asked = self._asked.get(group_id)
        if asked is not None:
            self._drop(next(iter(asked)))

    def any_for(self, group_id: str, now_ms: int) -> bool:
        """Return whether more members are expected."""
        asked = self._asked.get(group_id)
        return asked is not None and next(reversed(asked.values())) >= now_ms - EXPECTED_FOR_MS

    def _closed(self, connection: Connection) -> None:
        self._drop(connection)
        del self._group_of[connection]

    def _drop(self, connection: Connection) -> None:
        group_id = self._group_of[connection]
        asked = self._asked.get(group_id)
        if asked is not None and asked.pop(connection, None) is not None and not asked:
            del self._asked[group_id]
