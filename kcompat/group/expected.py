"""Clients that are expected to join a group: after FindCoordinator a client usually joins the group next.

With `group.initial.rebalance.delay.ms` at 0 the first generation starts at once, unless more members are
expected. Members that miss it by a few milliseconds would wait seconds for the next generation, because the
first one's members learn of a rebalance only from their next heartbeats.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kcompat.net.answers import Connection

EXPECTED_FOR_MS: Final = 1000
"""Time in ms after FindCoordinator within which the client is expected to join.

Clients take up to about 150 ms to join. Tools that send FindCoordinator never join.
"""


class ExpectedMembers:
    """Connections that sent FindCoordinator for a group whose clients have not joined it since.

    A client may join on another connection than the one that sent FindCoordinator. Therefore each join is
    attributed to the connection that has waited longest.
    """

    def __init__(self) -> None:
        self._requests: dict[str, dict[Connection, int]] = {}
        """Time in ms of each connection's FindCoordinator, by group, latest last."""
        self._group_of: dict[Connection, str] = {}
        """Group in the last FindCoordinator of each connection."""

    def note_find_coordinator(self, connection: Connection, group_id: str, now_ms: int) -> None:
        """Record that a connection has sent FindCoordinator for a group."""
        before = self._group_of.get(connection)
        if before == group_id:
            return
        if before is not None:
            self._drop(connection)
        self._group_of[connection] = group_id
        self._requests.setdefault(group_id, {})[connection] = now_ms
        if before is None:
            connection.when_closed(partial(self._closed, connection))

    def note_join(self, group_id: str) -> None:
        """Record that a new member has joined the group, so that one member fewer is expected."""
        requests = self._requests.get(group_id)
        if requests is not None:
            self._drop(next(iter(requests)))

    def any_for(self, group_id: str, now_ms: int) -> bool:
        """Return whether any client is expected to join the group."""
        requests = self._requests.get(group_id)
        return requests is not None and next(reversed(requests.values())) >= now_ms - EXPECTED_FOR_MS

    def _closed(self, connection: Connection) -> None:
        self._drop(connection)
        del self._group_of[connection]

    def _drop(self, connection: Connection) -> None:
        group_id = self._group_of[connection]
        requests = self._requests.get(group_id)
        if requests is not None and requests.pop(connection, None) is not None and not requests:
            del self._requests[group_id]
