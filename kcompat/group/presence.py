"""Members whose connection has ended: who is killed loses it at once, long before the session ends.

A client that lives connects again for its next heartbeat at the latest, and Kafka asks clients to heartbeat
three times a session or more. So a member that has lost its connection, and is not heard of on another one
within two fifths of its session, is gone. Kafka waits for the whole session. Static members are waited for
here too (KIP-345).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.net.answers import Connection

    Member = tuple[str, str]
    """Its group and its id."""


def session_key(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The timer of a member's session, in groups of every kind."""
    return ("session", group_id, member_id)


class Presence:
    """On which connection each member was last heard of. A connection stands for one member, the one that was
    last heard of on it: who serves several through one has them waited for as Kafka does.
    """

    def __init__(self, lost: Callable[[str, str], object]) -> None:
        """`lost(group, member)` is called when the connection of a member has ended."""
        self._lost = lost
        self._connections: dict[Member, Connection] = {}
        self._members: dict[Connection, Member] = {}

    def heard(self, connection: Connection, group_id: str, member_id: str) -> None:
        """A member has sent a request."""
        member = (group_id, member_id)
        if self._connections.get(member) is connection:
            return
        before = self._members.get(connection)
        if before is not None and self._connections.get(before) is connection:
            del self._connections[before]
        self._connections[member] = connection
        self._members[connection] = member
        if before is None:
            connection.when_closed(partial(self._closed, connection))

    def _closed(self, connection: Connection) -> None:
        member = self._members.pop(connection)
        if self._connections.get(member) is connection:
            del self._connections[member]
            self._lost(*member)
