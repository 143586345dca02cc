"""The share partitions that this broker leads, by group and partition (Kafka's `SharePartitionManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.partition import Partition
from kcompat.share.key import SharePartitionKey
from kcompat.share.leading import LedSharePartition
from kcompat.share.persister import Outcome
from kcompat.share.ports import Replicas

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcompat.clock import Clock
    from kcompat.cluster.image import ImageHolder
    from kcompat.replication.purgatory import Delayed, Purgatory
    from kcompat.share.fetching import Results, ShareFetch
    from kcompat.share.partition.acknowledgement import Acknowledgement
    from kcompat.share.persister import Persister
    from kcompat.share.ports import ShareSettings
    from kcompat.share.sessions import ShareSessionKey, TopicIdPartition


class FetchedReplicas(Replicas, Protocol):
    """The partitions of this broker, and the fetches that wait for them."""

    @property
    def fetches(self) -> Purgatory:
        """Waiting fetches, by partition or share partition."""


class SharePartitions:
    """Share partitions that this broker leads, loaded at their first fetch and dropped when their state is
    out of date.
    """

    def __init__(
        self,
        replicas: FetchedReplicas,
        cluster: ImageHolder,
        persister: Persister,
        clock: Clock,
        settings: ShareSettings,
    ) -> None:
        self.settings = settings
        self._waiting = replicas.fetches
        self._replicas = replicas
        self._cluster = cluster
        self._persister = persister
        self._clock = clock
        self._led: dict[SharePartitionKey, LedSharePartition] = {}

    def __len__(self) -> int:
        return len(self._led)

    def lead(self, group_id: str, of: TopicIdPartition) -> LedSharePartition | Outcome:
        """Return the share partition, loading it if necessary, or the error if this broker does not
        lead it.
        """
        key = SharePartitionKey(group_id, *of)
        led = self._find(key)
        if led is not None:
            return led
        topic = self._cluster.image.topic_names.get(key.topic_id)
        found = (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if topic is None
            else self._replicas.find(topic, key.partition)
        )
        if not isinstance(found, Partition):
            return Outcome(found)
        if not found.is_leader:
            return Outcome(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        led = LedSharePartition(key, found, self._persister, self._clock, self.settings, self._changed)
        if led.refusal is not None:
            return led.refusal
        self._led[key] = led
        return led

    def wait(self, fetch: ShareFetch, max_wait_ms: int) -> Delayed[Results]:
        """Promise the results of a fetch once enough records are available, or after `max_wait_ms`."""
        delayed = self._waiting.wait(fetch, fetch.keys, max_wait_ms)
        delayed.wake(None)
        return delayed

    def acknowledge(
        self, of: SharePartitionKey, member_id: str, said: Sequence[Acknowledgement]
    ) -> Promise[Outcome]:
        """Apply a member's acknowledgements of records of a share partition."""
        led = self._find(of)
        if led is None:
            return Promise.resolved(Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        return led.acknowledge(member_id, said)

    def release(
        self, session: ShareSessionKey, partitions: Iterable[TopicIdPartition]
    ) -> Promise[list[Outcome]]:
        """Release a member's records in these partitions, because its session has ended."""
        found = [self._find(SharePartitionKey(session.group_id, *each)) for each in partitions]
        return gather([led.release(session.member_id) for led in found if led is not None])

    def forget_group(self, group_id: str) -> None:
        """Drop the share partitions of a group without members on this broker; the next fetch loads them
        again.
        """
        self._drop(led for key, led in self._led.items() if key.group_id == group_id)

    def forget_all(self) -> None:
        """Drop all share partitions, because the broker stops."""
        self._drop(self._led.values())

    def _drop(self, dropped: Iterable[LedSharePartition]) -> None:
        for led in list(dropped):
            led.drop(Outcome(ErrorCode.NOT_LEADER_OR_FOLLOWER))

    def _find(self, key: SharePartitionKey) -> LedSharePartition | None:
        led = self._led.get(key)
        return led if led is None or led.check() is None else None

    def _changed(self, led: LedSharePartition) -> None:
        if led.refusal is not None and self._led.get(led.key) is led:
            del self._led[led.key]
        self._waiting.wake_soon(led)

    def check_invariants(self) -> None:
        """Assert that the share partitions are usable, under the right keys, and satisfy their own
        invariants.
        """
        for key, led in self._led.items():
            assert led.key == key
            assert led.refusal is None
            led.check_invariants()
