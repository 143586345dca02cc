"""The log of rebalances and removed members of one broker's groups, in the words of Kafka's group
coordinator.

A group that grows or shrinks rebalances once for each member, and with a cooperative assignor once more,
which is normal. In an unstable group, members join and leave in turn, or change their requests several times
in a row: those changes are counted.
"""

from __future__ import annotations

import logging
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from kcompat.logger_names import GROUP_COORDINATOR
from kcompat.notices.cause import client
from kcompat.notices.causes import MEMBER_EXPIRED, REBALANCES

if TYPE_CHECKING:
    from kcompat.coordinator.operation import Result, ShardOperation
    from kcompat.notices.notices import Notices

logger = logging.getLogger(GROUP_COORDINATOR)

MOST_GROUPS: Final = 1000
"""Maximum number of groups whose last change is remembered."""


SOONER: Final = ", shortened to two fifths when its connection ended"
"""End of the reason why a member without a connection is removed."""
AT_ONCE: Final = ", ended before that time by `expire_member`"
"""End of the reason why a member is removed whose session a test has ended."""


class Change(Enum):
    """Kinds of changes for which a group rebalances."""

    JOIN = "join"
    DEPARTURE = "departure"
    UPDATE = "update"
    """A member stays and changes its request, or the coordinator lost the generation."""


class Why(NamedTuple):
    """The reason of a rebalance: the kind of change, and a part of a sentence that names the member."""

    change: Change
    reason: str


class Departing(Protocol):
    """Fields of a removed member, of any kind of group, for the log."""

    @property
    def member_id(self) -> str:
        """The id of the member in its group."""

    @property
    def client_id(self) -> str:
        """The id that the member's client has given itself."""

    @property
    def client_host(self) -> str:
        """Address of the client after a slash, as Kafka shows it."""


class GroupEvents:
    """The log of the groups of one broker."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._end = ""
        """End of the reasons of the members that the operation under way removes."""
        self._last: dict[str, tuple[Change, bool]] = {}
        """The last change of the members of each group, and whether an update has followed."""

    def rebalances(self, group_id: str, why: Why) -> None:
        """Note that a group begins a rebalance, and warn if it rebalances repeatedly."""
        members, was_update = self._last.pop(group_id, (why.change, False))
        is_update = why.change is Change.UPDATE
        if len(self._last) >= MOST_GROUPS:
            del self._last[next(iter(self._last))]
        self._last[group_id] = (members if is_update else why.change), is_update
        if was_update if is_update else why.change is not members:
            self._notices.tell(REBALANCES, f"group {group_id}", reason=why.reason)

    def without_connection(self, expire: ShardOperation[Any, None]) -> ShardOperation[Any, None]:
        """Return the operation `expire`, which ends a session, for a session that is shorter because the
        connection of its member has ended: the log says so.
        """
        return self._marked(expire, SOONER)

    def by_a_test(self, expire: ShardOperation[Any, None]) -> ShardOperation[Any, None]:
        """Return the operation `expire` for a session that a test ends: the log says so."""
        return self._marked(expire, AT_ONCE)

    def _marked(self, expire: ShardOperation[Any, None], end: str) -> ShardOperation[Any, None]:
        def operation(shard: Any, now_ms: int) -> Result[None]:
            self._end = end
            try:
                return expire(shard, now_ms)
            finally:
                self._end = ""

        return operation

    def expired(self, group_id: str, member: Departing, reason: str) -> None:
        """Warn that a member is removed which did not leave."""
        reason += self._end
        address = client(member.client_id, member.client_host.removeprefix("/"))
        self._notices.tell(
            MEMBER_EXPIRED, f"group {group_id}", member=member.member_id, client=address, reason=reason
        )


def client_reason(given: str | None) -> str:
    """Return the end of a log line, with the reason that the client gave (KIP-800)."""
    return f"; client reason: {given or 'not provided'}"
