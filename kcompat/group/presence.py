"""Detection of members whose connection has ended, which happens to a killed process long before its session
ends.

A live client connects again for its next heartbeat at the latest, and Kafka asks clients to send at least
three heartbeats in each session timeout. So a member that has lost its connection and sends no request on
another one within two fifths of its session timeout is considered failed. Kafka waits for the whole session,
and so does kcompat for static members (KIP-345).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.net.answers import Connection

    Member = tuple[str, str]
    """Group id and member id."""


def session_key(group_id: str, member_id: str) -> tuple[str, str, str]:
    """Return the key of the timer of a member's session, for groups of every kind."""
    return ("session", group_id, member_id)


class Presence:
    """Connection on which each member last sent a request.

    A connection is recorded only for the last member that used it. Other members of a client that uses one
    connection for several are removed only when their sessions end, as in Kafka.
    """

    def __init__(self, lost: Callable[[str, str], object]) -> None:
        """Make an empty table; `lost(group, member)` is called when the connection of a member has ended."""
        self._lost = lost
        self._connections: dict[Member, Connection] = {}
        self._members: dict[Connection, Member] = {}

    def note_request(self, connection: Connection, group_id: str, member_id: str) -> None:
        """Record that a member has sent a request on a connection."""
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
