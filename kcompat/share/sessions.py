"""Share sessions: a member names its partitions once, then only changes (KIP-932). Pure.

Unlike fetch sessions, share sessions are identified by group and member, and each belongs to the connection
that began it. When the connection closes, the member counts as departed and its records are released. Kafka's
counterparts: `ShareSession`, `ShareSessionCache` and the contexts of share fetches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

INITIAL_EPOCH = 0
"""Epoch of a request that begins a session."""
FINAL_EPOCH = -1
"""Epoch of a request that ends the member's session."""
_LAST_EPOCH = 2**31 - 1

TopicIdPartition = tuple[bytes, int]
"""Topic id and index of a partition."""


class ShareSessionKey(NamedTuple):
    """Group id and member id of a session."""

    group_id: str
    member_id: str


class ShareSession:
    """The partitions that a member fetches, in the order of service; a partition that had records moves to
    the end.
    """

    __slots__ = ("_must_tell", "connection", "epoch", "key", "partitions")

    def __init__(
        self, key: ShareSessionKey, partitions: Iterable[TopicIdPartition], connection: Hashable
    ) -> None:
        self.key = key
        self.connection = connection
        self.epoch = INITIAL_EPOCH + 1
        """Epoch that the next request has to carry."""
        self.partitions: dict[TopicIdPartition, None] = dict.fromkeys(partitions)
        self._must_tell: set[TopicIdPartition] = set()

    def update(self, named: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]) -> None:
        """Add and remove the partitions that a request names."""
        for partition in named:
            if partition not in self.partitions:
                self.partitions[partition] = None
                self._must_tell.add(partition)
        for partition in forgotten:
            self.partitions.pop(partition, None)
            self._must_tell.discard(partition)

    def advance(self) -> None:
        """Expect the next epoch in the next request."""
        self.epoch = 1 if self.epoch == _LAST_EPOCH else self.epoch + 1

    def must_tell(self, partition: TopicIdPartition, *, has_records: bool, has_error: bool) -> bool:
        """Return whether a response has to include a partition.

        It has to if the partition has records or an error, is new to the session, or had an error in the last
        response. A partition with records moves to the end of the order.
        """
        is_due = partition in self._must_tell
        self._must_tell.discard(partition)
        if has_error:
            self._must_tell.add(partition)
        if has_records and partition in self.partitions:
            del self.partitions[partition]
            self.partitions[partition] = None
        return is_due or has_records or has_error

    def rotated(self, epoch: int) -> list[TopicIdPartition]:
        """Return the partitions in the order in which a request of this epoch is served.

        The first partition changes with the epoch, so that no partition starves.
        """
        partitions = list(self.partitions)
        if epoch > INITIAL_EPOCH and partitions:
            turn = epoch % len(partitions)
            return partitions[turn:] + partitions[:turn]
        return partitions


class ShareSessions:
    """The sessions of one broker, at most `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sessions: dict[ShareSessionKey, ShareSession] = {}
        self._by_connection: dict[Hashable, ShareSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, key: ShareSessionKey) -> ShareSession | None:
        """Return the session of a member, or None."""
        return self._sessions.get(key)

    def fetch(
        self,
        key: ShareSessionKey,
        epoch: int,
        named: Sequence[TopicIdPartition],
        forgotten: Iterable[TopicIdPartition],
        connection: Hashable,
        *,
        has_acknowledgements: bool,
    ) -> ShareSession | ErrorCode:
        """Return the session that a ShareFetch begins, continues, or is about to end; or the error that
        refuses it.
        """
        session = self._sessions.get(key)
        if epoch == INITIAL_EPOCH:
            if has_acknowledgements:
                return ErrorCode.INVALID_REQUEST
            if session is not None:
                self._drop(session)
            return self._begin(key, named, connection)
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.epoch:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session.update(named, forgotten)
        session.advance()
        return session

    def acknowledge(self, key: ShareSessionKey, epoch: int) -> ErrorCode:
        """Return the error of a ShareAcknowledge for its session; NONE if it continues or is about to end the
        session.
        """
        if epoch == INITIAL_EPOCH:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session = self._sessions.get(key)
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if epoch == FINAL_EPOCH:
            return ErrorCode.NONE
        if epoch != session.epoch:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session.advance()
        return ErrorCode.NONE

    def end(self, key: ShareSessionKey) -> list[TopicIdPartition]:
        """End the session of a member; return the session's partitions."""
        session = self._sessions.get(key)
        if session is None:
            return []
        self._drop(session)
        return list(session.partitions)

    def disconnected(self, connection: Hashable) -> ShareSession | None:
        """End and return the session that was last begun on a closed connection, or return None."""
        session = self._by_connection.get(connection)
        if session is not None:
            self._drop(session)
        return session

    def has_members(self, group_id: str) -> bool:
        """Return whether any member of the group has a session here."""
        return any(key.group_id == group_id for key in self._sessions)

    def _begin(
        self, key: ShareSessionKey, named: Sequence[TopicIdPartition], connection: Hashable
    ) -> ShareSession | ErrorCode:
        if len(self._sessions) >= self._limit:
            return ErrorCode.SHARE_SESSION_LIMIT_REACHED
        session = self._sessions[key] = ShareSession(key, named, connection)
        self._by_connection[connection] = session
        return session

    def _drop(self, session: ShareSession) -> None:
        del self._sessions[session.key]
        if self._by_connection.get(session.connection) is session:
            del self._by_connection[session.connection]

    def check_invariants(self) -> None:
        """Assert that the sessions are within the limit, and under the right keys."""
        assert len(self._sessions) <= self._limit
        for key, session in self._sessions.items():
            assert session.key == key
            assert session.epoch > INITIAL_EPOCH
        for connection, session in self._by_connection.items():
            assert session.connection == connection
            assert self._sessions[session.key] is session
