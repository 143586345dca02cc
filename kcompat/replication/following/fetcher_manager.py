"""Keeps the followers of this broker fetching (Kafka's `ReplicaFetcherManager`).

There are `num.replica.fetchers` connections to each leader, and a `Fetcher` for each; a partition always
belongs to the same one of them. Each has one request under way, apart from the question that ends a long
poll: a leader answers a fetch that waits when the next request of its connection comes, unless it is a Kafka,
and the new followers need not wait for it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from zlib import crc32

from msgspec import Struct

from kcompat.replication.following.fetch_state import FetcherConfig
from kcompat.replication.following.fetcher import Fetcher
from kcompat.replication.following.fetcher_connection import FetcherConnection
from kcompat.replication.following.follower_partition import FollowingPartition
from kcompat.replication.role import NO_LEADER

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock
    from kcompat.replication.following.fetcher_connection import LeaderPort
    from kcompat.replication.following.follower_fetch_session import Key
    from kcompat.replication.partition import Partition


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
        self._connections: dict[tuple[int, int], FetcherConnection] = {}
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
            self._connections[place] = FetcherConnection(
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
