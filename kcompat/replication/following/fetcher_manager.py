"""The fetchers of this broker's followers (Kafka's `ReplicaFetcherManager`).

Each leader has `num.replica.fetchers` connections with one `Fetcher` each; a partition always belongs to the
same one of them. A fetcher has one pending request, and at most a second one that ends the long poll of the
first: a leader that runs kcompat answers a waiting fetch as soon as another request arrives on the
connection, so new followers need not wait for the poll to end.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final
from zlib import crc32

from msgspec import Struct

from kcompat.peer.releases import release
from kcompat.protocol.constants import NO_LEADER
from kcompat.replication.following.fetch_state import BEHIND_MAX_BYTES, FetcherConfig
from kcompat.replication.following.fetcher import Fetcher
from kcompat.replication.following.fetcher_connection import FetcherConnection
from kcompat.replication.following.follower_partition import FollowerPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock
    from kcompat.config.broker import BrokerConfig
    from kcompat.replication.following.fetcher_connection import LeaderPort
    from kcompat.replication.partition import Partition
    from kcompat.topics import TopicPartition


FIRST_WITH_DIVERGING_EPOCHS: Final = release("2.7-IV1")
"""First `inter.broker.protocol.version` with which leaders detect divergent logs in Fetch (KIP-595)."""


class FetcherManagerConfig(Struct, frozen=True, kw_only=True):
    """Limits on the fetches from other brokers."""

    fetcher: FetcherConfig
    fetchers: int
    """Number of fetchers for each leader (`num.replica.fetchers`)."""
    timeout_ms: int
    """Time in ms for a response, in addition to the wait of a fetch (`replica.socket.timeout.ms`)."""


class FetcherManager:
    """The fetchers of one broker, by the leader's id and the number of the fetcher."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        leader: Callable[[int, int], LeaderPort],
        clock: Clock,
        config: FetcherManagerConfig,
    ) -> None:
        """Make a manager without fetchers.

        `leader(broker_id, number)` returns the connection of a fetcher. `broker_epoch` returns the broker
        epoch of this broker's current registration.
        """
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._leader = leader
        self._clock = clock
        self._config = config
        self._connections: dict[tuple[int, int], FetcherConnection] = {}
        self._places: dict[TopicPartition, tuple[int, int]] = {}
        self._partitions: dict[TopicPartition, Partition] = {}

    def follow(self, partition: Partition) -> None:
        """Fetch the partition from the leader that its role names, if that is another broker."""
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
        connection.fetcher.follow(FollowerPartition(partition, self._clock), partition.role.leader_epoch)
        connection.go_on_soon()

    def _number_of(self, key: TopicPartition) -> int:
        topic, index = key
        return (crc32(topic.encode()) + index) % self._config.fetchers

    def leave(self, topic: str, index: int) -> None:
        """Stop fetching a partition."""
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
        """Close a connection if it still has no partition after the current event."""
        connection = self._connections.get(place)
        if connection is not None and connection.fetcher.is_idle:
            del self._connections[place]
            connection.close()

    def configure(self, config: FetcherManagerConfig) -> None:
        """Apply a changed number of fetchers, or changed limits."""
        if config != self._config:
            partitions = list(self._partitions.values())
            self.close()
            self._config = config
            for partition in partitions:
                self.follow(partition)

    def lag(self, topic: str, index: int) -> int | None:
        """Return the number of offsets that a partition is behind the leader's high watermark.

        The result is -1 before the first response, and None if the partition is not followed.
        """
        place = self._places.get((topic, index))
        return None if place is None else self._connections[place].fetcher.lag((topic, index))

    def close(self) -> None:
        """Stop fetching, and close all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._places.clear()
        self._partitions.clear()


def fetcher_manager_config(broker: BrokerConfig) -> FetcherManagerConfig:
    """Return the limits in the keys `replica.fetch.*`, `num.replica.fetchers` and
    `replica.socket.timeout.ms`.
    """
    brokers_release = release(broker.string("inter.broker.protocol.version"))
    partition_max_bytes = broker.integer("replica.fetch.max.bytes")
    is_given = "replica.fetch.max.bytes" in broker.given
    return FetcherManagerConfig(
        fetcher=FetcherConfig(
            max_wait_ms=broker.replica_fetch_wait_max_ms,
            min_bytes=broker.integer("replica.fetch.min.bytes"),
            partition_max_bytes=partition_max_bytes,
            behind_max_bytes=partition_max_bytes if is_given else BEHIND_MAX_BYTES,
            response_max_bytes=broker.integer("replica.fetch.response.max.bytes"),
            backoff_ms=broker.integer("replica.fetch.backoff.ms"),
            truncates_on_fetch=brokers_release >= FIRST_WITH_DIVERGING_EPOCHS,
        ),
        fetchers=broker.integer("num.replica.fetchers"),
        timeout_ms=broker.integer("replica.socket.timeout.ms"),
    )
