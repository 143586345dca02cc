"""Keeps the followers of this broker fetching (Kafka's `ReplicaFetcherManager`).

There are `num.replica.fetchers` connections to each leader, and a `Fetcher` for each; a partition always
belongs to the same one of them. Each has one request under way, apart from the question that ends a long
poll: a leader answers a fetch that waits when the next request of its connection comes, unless it is a Kafka,
and the new followers need not wait for it.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol
from zlib import crc32

from msgspec import Struct

from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcompat.replication.fetch_state import FetcherConfig
from kcompat.replication.fetcher import Fetcher
from kcompat.replication.following import FollowingPartition
from kcompat.replication.role import NO_LEADER

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock, Timer
    from kcompat.promise import Promise
    from kcompat.protocol.message import Message
    from kcompat.replication.follower_session import Key
    from kcompat.replication.partition import Partition

logger = logging.getLogger(__name__)

FIRST_WITH_REPLICA_STATE: Final = 15


class LeaderPort(Protocol):
    """A connection to another broker."""

    def ask(self, key: ApiKey, make: Callable[[int], Message], timeout_ms: int) -> Promise[Message]:
        """What the broker answers to a request that is made for a version that both sides have. The promise
        fails where the broker cannot be asked, or does not answer in time.
        """

    def disconnect(self) -> None:
        """Give the connection up until the next call; what is under way fails."""


class FetchingConfig(Struct, frozen=True):
    """How this broker follows others."""

    fetcher: FetcherConfig = FetcherConfig()
    fetchers: int = 1
    """`num.replica.fetchers`, for each leader."""
    timeout_ms: int = 30_000
    """`replica.socket.timeout.ms`."""


class Fetching:
    """The fetchers of one broker, by leader and number."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        leader: Callable[[int, int], LeaderPort],
        clock: Clock,
        config: FetchingConfig,
    ) -> None:
        """`leader(broker_id, number)` is the connection of a fetcher, asked for each time. `broker_epoch` is
        that of this broker's registration, as it is when it is asked.
        """
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._leader = leader
        self._clock = clock
        self._config = config
        self._connections: dict[tuple[int, int], _Connection] = {}
        self._places: dict[Key, tuple[int, int]] = {}
        self._partitions: dict[Key, Partition] = {}

    def follow(self, partition: Partition) -> None:
        """The partition has a role: follow the leader that it names, if that is another broker."""
        key = (partition.topic, partition.index)
        self.leave(*key)
        leader = partition.role.leader
        if leader in (NO_LEADER, self._broker_id):
            return
        self._partitions[key] = partition
        self._places[key] = place = (leader, self._number_of(key))
        if place not in self._connections:
            fetcher = Fetcher(self._broker_id, self._broker_epoch, self._config.fetcher)
            self._connections[place] = _Connection(
                self._broker_id, fetcher, partial(self._leader, *place), self._clock, self._config.timeout_ms
            )
        connection = self._connections[place]
        connection.fetcher.follow(FollowingPartition(partition, self._clock), partition.role.leader_epoch)
        connection.go_on_soon()

    def _number_of(self, key: Key) -> int:
        topic, index = key
        return (crc32(topic.encode()) + index) % self._config.fetchers

    def leave(self, topic: str, index: int) -> None:
        """The partition goes: follow nobody."""
        key = (topic, index)
        place = self._places.pop(key, None)
        self._partitions.pop(key, None)
        if place is None:
            return
        fetcher = self._connections[place].fetcher
        fetcher.forget(key)
        if fetcher.is_idle:
            self._clock.call_later(0, lambda: self._close_idle(place))

    def _close_idle(self, place: tuple[int, int]) -> None:
        """Close a connection that is still of no use after the event that took its last partition."""
        connection = self._connections.get(place)
        if connection is not None and connection.fetcher.is_idle:
            del self._connections[place]
            connection.close()

    def configure(self, config: FetchingConfig) -> None:
        """Follow with another number of fetchers, or other limits."""
        if config != self._config:
            partitions = list(self._partitions.values())
            self.close()
            self._config = config
            for partition in partitions:
                self.follow(partition)

    def lag(self, topic: str, index: int) -> int | None:
        """How far a partition is behind the high watermark of its leader: -1 before the first answer; None
        where it is not followed.
        """
        place = self._places.get((topic, index))
        return None if place is None else self._connections[place].fetcher.lag((topic, index))

    def close(self) -> None:
        """Fetch nothing any more."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._places.clear()
        self._partitions.clear()


class _Connection:
    """A fetcher and its connection."""

    def __init__(
        self,
        broker_id: int,
        fetcher: Fetcher,
        leader: Callable[[], LeaderPort],
        clock: Clock,
        timeout_ms: int,
    ) -> None:
        self._broker_id = broker_id
        self.fetcher = fetcher
        self._leader = leader
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._under_way: Message | None = None
        self._is_cut_short = False
        """Whether the leader was asked to end the fetch that waits there."""
        self._timer: Timer | None = None
        self._is_closed = False

    def go_on_soon(self) -> None:
        """There is something new to ask: after the current event, so that all it brings goes along."""
        self._set_timer(0)

    def close(self) -> None:
        """Ask nothing any more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._leader().disconnect()

    def _set_timer(self, delay_ms: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_later(delay_ms, self._timer_rang)

    def _timer_rang(self) -> None:
        self._timer = None
        if self._under_way is None:
            self._go_on()
        elif isinstance(self._under_way, FetchRequest) and not self._is_cut_short:
            self._is_cut_short = True
            self._call(OffsetForLeaderEpochRequest(self._broker_id)).then(self._cut_short, self._cut_short)

    def _cut_short(self, _: object) -> None:
        self._is_cut_short = False

    def _go_on(self) -> None:
        """Ask what there is to ask; look again when the first pause ends."""
        now_ms = self._clock.now_ms()
        request = self.fetcher.next(now_ms)
        due_ms = self.fetcher.due_ms()
        if due_ms is not None:
            self._set_timer(due_ms - now_ms)
        if request is not None:
            self._under_way = request
            self._call(request).then(self._answered, lambda fault: self._failed(request, fault))

    def _call(self, request: Message) -> Promise[Message]:
        key = ApiKey(request.api_key)
        return self._leader().ask(key, partial(_fitted, request), self._timeout_ms)

    def _answered(self, response: Message) -> None:
        self._under_way = None
        if not self._is_closed:
            self.fetcher.answered(response, self._clock.now_ms())
            self._go_on()

    def _failed(self, request: Message, fault: Exception) -> None:
        self._under_way = None
        if not self._is_closed:
            logger.info("%s came to nothing: %s", type(request).__name__, fault)
            self.fetcher.failed_call(request, self._clock.now_ms())
            self._go_on()


def _fitted(request: Message, version: int) -> Message:
    """The request as this version carries it: who follows moved to another field."""
    if isinstance(request, FetchRequest) and version < FIRST_WITH_REPLICA_STATE:
        request.replica_id = request.replica_state.replica_id
        request.replica_state = FetchRequest.ReplicaState()
    return request
