"""The share groups' parts of one broker: the share coordinator, and the share partitions that the broker
leads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.share.partition_settings import SharePartitionSettings
from kcompat.replication.coordinator_logs import TopicLog
from kcompat.share.coordinator.coordinator import ShareCoordinator
from kcompat.share.coordinator.shard import ShareCoordinatorConfig
from kcompat.share.distributed_persister import DistributedPersister
from kcompat.share.ends import PartitionEnds
from kcompat.share.partition_manager import SharePartitions
from kcompat.share.sessions import ShareSessions
from kcompat.topics import SHARE_GROUP_STATE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.config.broker import ConfigFeed
    from kcompat.node.environment import Environment
    from kcompat.peer.peers import Peers
    from kcompat.promise import Promise
    from kcompat.replication.replica_manager import ReplicaManager

    Neighbours = tuple[ConfigFeed, MetadataCache, ReplicaManager, Peers, Environment]


class Sharing:
    """The share coordinator, which follows the leaderships of its topic; the share partitions led by this
    broker, and the sessions of their members.
    """

    def __init__(
        self,
        broker_id: int,
        neighbours: Neighbours,
        state_partitions: Callable[[], int],
        make_topic: Callable[[], Promise[Any]],
    ) -> None:
        """Build the parts. `state_partitions()` returns the number of partitions of `__share_group_state`;
        `make_topic()` creates that topic.
        """
        self._config, self._cluster, replicas, peers, environment = neighbours
        config = self._config.current
        log = TopicLog(replicas, SHARE_GROUP_STATE)
        self.coordinator = ShareCoordinator(
            log,
            environment.clock,
            ShareCoordinatorConfig.read(config.get),
            state_partitions,
            self._count_partitions,
            lambda: SHARE_GROUP_STATE in self._cluster.image.topics,
        )
        log.on_leadership(self.coordinator.load, self.coordinator.unload)
        self.persister = DistributedPersister(
            broker_id,
            self.coordinator,
            peers,
            self._cluster,
            make_topic,
            environment.clock,
            environment.random,
        )
        settings = SharePartitionSettings(self._config, self._cluster)
        self.partitions = SharePartitions(
            replicas, self._cluster, self.persister, environment.clock, settings
        )
        self.sessions = ShareSessions(config.integer("group.share.max.share.sessions"))
        self.ends = PartitionEnds(broker_id, replicas, peers, self._cluster)

    def start(self) -> None:
        """Start the periodic work of the share coordinator."""
        self.coordinator.start()

    def stop(self) -> None:
        """Stop all parts."""
        self.partitions.forget_all()
        self.persister.close()
        self.coordinator.stop()

    def _count_partitions(self, topic_id: bytes) -> int:
        image = self._cluster.image
        name = image.topic_names.get(topic_id)
        return 0 if name is None else len(image.topics[name].partitions)
