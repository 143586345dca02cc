"""Fetch sessions (KIP-227): a client names its partitions once, and later requests have only changes. Pure.

A session begins with a full fetch (epoch 0), and the fetches after it are incremental; epoch -1 closes the
named session and opens none. Times are arguments. Kafka's counterparts: `FetchSessionCache` and its fetch
contexts.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode
from kcompat.replication.reading import NO_REPLICA

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from kcompat.replication.reading import Fetched, FetchSpec
    from kcompat.replication.waiting.cached_answer import CachedAnswer

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EVICTION_MS = 120_000
"""Time in ms without use after which any new session may replace a session, and age in ms after which a
session with more partitions may (two minutes in Kafka).
"""

MOST_EVICTED: Final = 1000
"""Maximum number of ids of evicted sessions that are remembered, for the log."""

TopicKey = str | bytes
"""Name of a topic; from Fetch v13 on its 16-byte id."""
PartitionKey = tuple[TopicKey, int]


class FetchTarget(Struct):
    """Partition of a fetch: its request, and the values last sent to the client (-1 for none)."""

    topic: TopicKey
    index: int
    spec: FetchSpec
    sent_high_watermark: int = -1
    sent_log_start_offset: int = -1
    cached: CachedAnswer | None = None
    """Cached answer for this partition, valid until its log or high watermark changes; None if it has
    changed.
    """

    @property
    def key(self) -> PartitionKey:
        """Key of the partition in its session."""
        return self.topic, self.index

    def must_answer(self, fetched: Fetched) -> bool:
        """Return whether an incremental response has to include the partition; remember the values that it
        then sends.
        """
        changed = (
            len(fetched.records) > 0
            or fetched.high_watermark != self.sent_high_watermark
            or fetched.log_start_offset != self.sent_log_start_offset
        )
        self.sent_high_watermark = fetched.high_watermark
        self.sent_log_start_offset = fetched.log_start_offset
        if fetched.preferred_replica != NO_REPLICA:
            return True
        if fetched.error or fetched.diverging is not None:
            # The next response must include the partition again: after an error the client's values are
            # unknown, and a follower that has to truncate its log ignores the high watermark until then.
            self.sent_high_watermark = -1
            return True
        return changed


class FetchSession:
    """Fetch session of one client. Its partitions are served in order; those that just had data move to the
    end.
    """

    __slots__ = ("created_ms", "epoch", "id", "is_privileged", "last_used_ms", "targets", "uses_topic_ids")

    def __init__(
        self,
        session_id: int,
        targets: Iterable[FetchTarget],
        uses_topic_ids: bool,
        now_ms: int,
        *,
        is_privileged: bool,
    ) -> None:
        """Begin a session. A follower's session is privileged: it is not replaced by a consumer's while in
        use.
        """
        self.id = session_id
        self.is_privileged = is_privileged
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.targets = {target.key: target for target in targets}
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = self.last_used_ms = now_ms

    def update(self, wanted: Iterable[FetchTarget], forgotten: Iterable[PartitionKey]) -> None:
        """Add, change and remove partitions as the request demands."""
        for target in wanted:
            known = self.targets.get(target.key)
            if known is None:
                self.targets[target.key] = target
            else:
                known.spec = target.spec
        for key in forgotten:
            self.targets.pop(key, None)


class FetchContext:
    """One fetch within its session: the partitions to read, and the selection of results for the response."""

    __slots__ = (
        "_session",
        "_sessions",
        "_uses_topic_ids",
        "is_incremental",
        "is_privileged",
        "targets",
    )

    def __init__(
        self,
        targets: list[FetchTarget],
        *,
        sessions: FetchSessions | None = None,
        session: FetchSession | None = None,
        uses_topic_ids: bool = False,
        is_privileged: bool = False,
    ) -> None:
        self.targets = targets
        self.is_privileged = is_privileged
        """Whether the fetch is a follower's."""
        self.is_incremental = session is not None
        self._session = session
        self._sessions = sessions
        self._uses_topic_ids = uses_topic_ids

    @property
    def session_id(self) -> int:
        """Id of the session that the fetch continues; NO_SESSION if it continues none."""
        return NO_SESSION if self._session is None else self._session.id

    def answer(
        self, results: list[tuple[FetchTarget, Fetched]], now_ms: int
    ) -> tuple[int, list[tuple[FetchTarget, Fetched]]]:
        """Return the session id for the response (0: none) and the results that the response includes."""
        session = self._session
        if session is not None:
            included = [pair for pair in results if pair[0].must_answer(pair[1])]
            for target, fetched in included:
                if len(fetched.records):
                    session.targets[target.key] = session.targets.pop(target.key, target)
            return session.id, included
        if self._sessions is None:
            return NO_SESSION, results
        for target, fetched in results:
            target.must_answer(fetched)
        session_id = self._sessions.create(
            self.targets, self._uses_topic_ids, now_ms, is_privileged=self.is_privileged
        )
        return session_id, results


class FetchSessions:
    """Cache of at most `max.incremental.fetch.session.cache.slots` sessions."""

    def __init__(self, slots: int, random: Random) -> None:
        self.slots = slots
        """Largest number of sessions in the cache."""
        self._random = random
        self._sessions: dict[int, FetchSession] = {}
        self._evicted: deque[int] = deque(maxlen=MOST_EVICTED)

    def was_evicted(self, session_id: int) -> bool:
        """Return whether a session was evicted lately."""
        return session_id in self._evicted

    def __len__(self) -> int:
        return len(self._sessions)

    def open(
        self,
        session_id: int,
        epoch: int,
        wanted: list[FetchTarget],
        forgotten: list[PartitionKey],
        *,
        uses_topic_ids: bool,
        now_ms: int,
        is_privileged: bool = False,
    ) -> FetchContext | ErrorCode:
        """Return the context of a request with this session id and epoch, or an error.

        `is_privileged`: the request is from a follower, whose session is evicted last.
        """
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(session_id, None)
            if epoch == FINAL_EPOCH:
                return FetchContext(wanted, is_privileged=is_privileged)
            return FetchContext(
                wanted, sessions=self, uses_topic_ids=uses_topic_ids, is_privileged=is_privileged
            )
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.update(wanted, forgotten)
        if not session.targets:
            del self._sessions[session_id]
            return FetchContext([])
        session.epoch = next_epoch(session.epoch)
        session.last_used_ms = now_ms
        self._sessions[session_id] = self._sessions.pop(session_id)
        return FetchContext(
            list(session.targets.values()), session=session, is_privileged=session.is_privileged
        )

    def create(
        self, targets: list[FetchTarget], uses_topic_ids: bool, now_ms: int, *, is_privileged: bool
    ) -> int:
        """Add a session and return its id; NO_SESSION if no session of the same or a lower rank can be
        evicted.
        """
        rank = (is_privileged, len(targets))
        if len(self._sessions) >= self.slots and not self._evict_for(rank, now_ms):
            return NO_SESSION
        session_id = 0
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._random.getrandbits(31)
        self._sessions[session_id] = FetchSession(
            session_id, targets, uses_topic_ids, now_ms, is_privileged=is_privileged
        )
        return session_id

    def _evict_for(self, rank: tuple[bool, int], now_ms: int) -> bool:
        """Evict a session if `EVICTION_MS` allows; return False if it does not. Sessions rank by privilege,
        then size.
        """
        if not self._sessions:
            return False
        victim = next(iter(self._sessions.values()))
        if now_ms - victim.last_used_ms <= EVICTION_MS:
            old = [each for each in self._sessions.values() if now_ms - each.created_ms > EVICTION_MS]
            lowest = min(old, key=_rank, default=None)
            if lowest is None or _rank(lowest) >= rank:
                return False
            victim = lowest
        del self._sessions[victim.id]
        self._evicted.append(victim.id)
        return True


def _rank(session: FetchSession) -> tuple[bool, int]:
    return session.is_privileged, len(session.targets)


def next_epoch(epoch: int) -> int:
    """Return the epoch after `epoch`. It wraps to 1, as 0 and -1 have special meanings."""
    return 1 if epoch >= 2**31 - 1 else epoch + 1
