"""Stray replicas: logs of partitions that the cluster has assigned to other brokers are removed or set aside.

The controller writes the new replicas of a partition first, and then has the former ones deleted
(StopReplica). A broker that is down at that time gets no such request, nor may a broker whose controller
fails in between. The next full UpdateMetadata shows such a broker that the partition has other replicas. It
then reads the assignment in the metadata store.

If this process had a role for the partition, it deletes the log, as the missing or pending StopReplica would.
Otherwise it renames the directory of the log to `-stray`, and the files stay until the user deletes them: a
store that was restored from a backup has old assignments, and a log that they make a stray may be the only
copy.

Kafka's counterpart: brokers in KRaft mode look for strays when they start, and rename them
(`LogManager.isStrayKraftReplica`, `asyncDelete`). With ZooKeeper, Kafka's brokers keep strays unchanged.

A log is a stray only if all of these conditions hold; otherwise it may be needed again:

- The log has the topic id that the store has for the topic. The log of a topic that the store does not know,
  or knows under another id, is not changed, nor is a log without a topic id.
- The assignment was changed since the topic was created. If it never was, no replica has moved, and the log
  has another origin, for example another broker's directories that were adopted without that broker
  (`kcompat.migration.adoption`).
- The store was read under the broker's present registration, so its content is not older than anything that
  this broker or a controller has sent since.
- The leader epoch in the UpdateMetadata is newer than that of the log and of any role of this replica. A
  replica is assigned in a new leader epoch, so a replica that was assigned here again since has a newer one.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from kcompat.cluster import znodes
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.log.errors import StorageError
from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.store.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcompat.cluster.control_requests import UpdatedPartition
    from kcompat.cluster.registration import Registration
    from kcompat.log.log import Log
    from kcompat.log.manager import LogManager
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.store.interface import Stat
    from kcompat.topics import TopicPartition

logger = logging.getLogger(__name__)


class Nodes(Protocol):
    """The method of a `MetadataStore` that this module uses."""

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """Return the data and Stat of each node, None for nodes that do not exist."""


class StrayReplicas:
    """The search for stray replicas of one broker: from creation to `stop` they are deleted or set aside."""

    def __init__(
        self, store: Nodes, registration: Registration, logs: LogManager, replicas: ReplicaManager
    ) -> None:
        self._store = store
        self._registration = registration
        self._logs = logs
        self._replicas = replicas
        self._suspected: dict[TopicPartition, UpdatedPartition] = {}
        """Partitions to look up in the store, with their last metadata update."""
        self._checking: asyncio.Task[None] | None = None
        self._epochs = registration.subscribe(lambda _: self._check_soon())

    def suspect(self, shown: Iterable[UpdatedPartition]) -> None:
        """Look up these partitions in the store, and remove or set aside their logs if they are strays.

        The controller's update has only other brokers as the replicas of each of them.
        """
        found = {(each.topic, each.index): each for each in shown if self._has_stray(each)}
        if found:
            self._suspected.update(found)
            self._check_soon()

    async def stop(self) -> None:
        """Stop removing logs, and wait until the removal under way has ended."""
        self.abandon()
        if self._checking is not None:
            with suppress(asyncio.CancelledError):
                await self._checking

    def abandon(self) -> None:
        """Stop removing logs."""
        self._epochs.cancel()
        if self._checking is not None:
            self._checking.cancel()

    def _check_soon(self) -> None:
        is_checking = self._checking is not None and not self._checking.done()
        if self._suspected and self._registration.epoch != NO_EPOCH and not is_checking:
            self._checking = asyncio.create_task(self._check(), name="stray-replicas")

    async def _check(self) -> None:
        while self._suspected:
            suspected, self._suspected = self._suspected, {}
            # A StopReplica that follows the UpdateMetadata has deleted most of these logs by now.
            strays = [each for each in suspected.values() if self._has_stray(each)]
            epoch = self._registration.epoch
            try:
                assignments = await self._assignments(sorted({each.topic for each in strays}))
            except (StoreError, DamagedZnodeError) as error:  # the next full UpdateMetadata names them again
                logger.warning("this broker may keep replicas that have moved to others: %s", error)
                return
            if self._registration.epoch != epoch:
                continue  # an UpdateMetadata follows each registration
            for each in strays:
                if self._is_elsewhere(each, assignments) and self._has_stray(each):
                    self._put_away(each)

    async def _assignments(self, topics: Sequence[str]) -> Mapping[str, znodes.TopicAssignment]:
        """Return the assignments of those of these topics that exist and whose assignment was changed since
        creation.
        """
        if not topics:
            return {}
        nodes = await self._store.get_many([znodes.topic_path(topic) for topic in topics])
        return {
            topic: znodes.decode_topic(node[0])
            for topic, node in zip(topics, nodes, strict=True)
            if node is not None and node[1].version > 0
        }

    def _is_elsewhere(
        self, shown: UpdatedPartition, assignments: Mapping[str, znodes.TopicAssignment]
    ) -> bool:
        """Return whether a changed assignment has this partition on other brokers alone."""
        topic = assignments.get(shown.topic)
        if topic is None or topic.topic_id != shown.topic_id or shown.index >= len(topic.replicas):
            return False
        return self._replicas.broker_id not in topic.replicas[shown.index]

    def _has_stray(self, shown: UpdatedPartition) -> bool:
        """Return whether this broker has a log with this topic id, no newer than the metadata update."""
        key = (shown.topic, shown.index)
        log = self._log(key)
        if log is None or log.topic_id == ZERO_UUID or log.topic_id != shown.topic_id:
            return False
        if log.is_failed or self._replicas.is_offline(*key):
            return False
        partition = self._replicas.get(*key)
        role_epoch = NO_EPOCH if partition is None else partition.role.leader_epoch
        return max(log.epochs.latest, role_epoch) < shown.info.leader_epoch

    def _log(self, key: TopicPartition) -> Log | None:
        """Return the log of a partition; if it is gone, the copy that was to replace it."""
        return self._logs.get(*key) or self._logs.futures.get(*key)

    def _put_away(self, shown: UpdatedPartition) -> None:
        """Delete a log that had a role in this process; set aside any other log.

        The copy that was to replace the log is deleted, unless it is the only one.
        """
        key, others = (shown.topic, shown.index), list(shown.info.replicas)
        log, had_role = self._log(key), self._replicas.get(*key) is not None
        assert log is not None, "it was looked at just now"
        self._replicas.remove(*key)
        try:
            if had_role:
                logger.warning("%s-%d is deleted: its replicas are %s now", *key, others)
            else:
                self._logs.set_aside(log, f"is no replica, those are on the brokers {others}")
            self._logs.delete(*key)
        except StorageError as fault:
            logger.error("%s-%d cannot be set aside: %s", *key, fault)  # noqa: TRY400
