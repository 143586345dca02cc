"""Whether this broker still leads a partition: what a coordinator asks before it tells what it knows.

A leader that was cut off does not know that there is another one. What it writes is not acknowledged, but
what it remembers may be out of date. Only a follower that is in sync can have been elected, so all of these
are asked: each is answered at once, and has to fetch again. Raft calls this a read index. Kafka's
coordinators do not ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.replication.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from kcompat.replication.leading.leader import Leader


class StillLeading:
    """Waits for followers of `leader` to fetch as often as is `awaited` of each, by their ids."""

    __slots__ = ("_awaited", "_leader")

    def __init__(self, leader: Leader, awaited: Mapping[int, int]) -> None:
        self._leader = leader
        self._awaited = awaited

    def try_complete(self, key: Hashable) -> ErrorCode | None:
        """See `Waiter`."""
        assert isinstance(key, Partition)
        if key.state is not self._leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE if self._leader.is_followed(self._awaited) else None

    def expire(self) -> ErrorCode:
        """See `Waiter`."""
        return ErrorCode.REQUEST_TIMED_OUT
