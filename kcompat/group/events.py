"""The log of what happens to the groups of one broker, in the words of Kafka's group coordinator.

A group that grows or shrinks rebalances once for each member, and with a cooperative assignor once more,
which is no trouble. In a group with a trouble members come and go in turn, or update what they ask for
several times running: that is what is counted.
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
"""Most groups whose last change is remembered."""


SOONER: Final = ", shortened to two fifths when its connection ended"
"""End of the reason why a member without a connection is removed."""


class Change(Enum):
    """Kinds of changes for which a group rebalances."""

    JOIN = "join"
    DEPARTURE = "departure"
    UPDATE = "update"
    """A member stays and asks for something else, or the coordinator lost the generation."""


class Why(NamedTuple):
    """The reason of a rebalance: the kind of change, and a sentence part that names the member."""

    change: Change
    reason: str


class Departing(Protocol):
    """The part of a member of any kind that its end is logged with."""

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
        self._sooner = ""
        """End of the reasons of the members that the operation under way removes."""
        self._last: dict[str, tuple[Change, bool]] = {}
        """The last change of the members of each group, and whether an update has come since."""

    def rebalances(self, group_id: str, why: Why) -> None:
        """Note that a group begins a rebalance, and warn if that happens again and again."""
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

        def operation(shard: Any, now_ms: int) -> Result[None]:
            self._sooner = SOONER
            try:
                return expire(shard, now_ms)
            finally:
                self._sooner = ""

        return operation

    def expired(self, group_id: str, member: Departing, reason: str) -> None:
        """Warn that a member is removed which did not leave."""
        reason += self._sooner
        address = client(member.client_id, member.client_host.removeprefix("/"))
        self._notices.tell(
            MEMBER_EXPIRED, f"group {group_id}", member=member.member_id, client=address, reason=reason
        )


def client_reason(given: str | None) -> str:
    """Return the end of a reason, with what the client has said (KIP-800)."""
    return f"; client reason: {given or 'not provided'}"
