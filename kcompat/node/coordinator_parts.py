"""The coordinators of a broker: the third floor of `kcompat.node.parts`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kcompat.api.context import Coordinators
from kcompat.api.coordinator_check import CoordinatorCheck
from kcompat.cluster.feature_levels import TRANSACTION_VERSION
from kcompat.controller.internal_topics import spec_of_automatic_topic
from kcompat.controller.producer_ids import ProducerIds
from kcompat.group.coordinator import GroupCoordinator
from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.ports import GroupPorts
from kcompat.node.sharing import Sharing
from kcompat.replication.coordinator_logs import PartitionMarkerLog, TopicLog
from kcompat.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from kcompat.transaction.coordinator import TransactionCoordinator, TransactionCoordinatorConfig
from kcompat.transaction.local_markers import LocalMarkers
from kcompat.transaction.marker_routes import MarkerRoutes
from kcompat.transaction.markers import Markers
from kcompat.transaction.verification import TransactionVerifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.image import ClusterImage
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.config.broker import ConfigFeed
    from kcompat.node.cluster_parts import ClusterParts
    from kcompat.node.lifetime import Lifetime
    from kcompat.node.storage_parts import StorageParts
    from kcompat.notices.notices import Notices


class CoordinatorTopics:
    """The coordinators' topics as one broker knows them. A Kafka broker reads ZooKeeper for that once, at its
    start.
    """

    def __init__(
        self, cluster: MetadataCache, has_replicas: Callable[[str], bool], config: ConfigFeed
    ) -> None:
        """Keep the image and the configuration; `has_replicas(topic)` returns whether this broker has
        partitions of a topic.
        """
        self._cluster = cluster
        self._has_replicas = has_replicas
        self._config = config

    def partitions(self, topic: str) -> int:
        """Return the number of partitions that the topic has, or will have; 0 while that is unknown.

        A broker that has just started takes roles in partitions before its image has their topics. If it
        assumed the configured number of partitions, it could take a key for its own that belongs to another
        partition.
        """
        known = self._cluster.image.topics.get(topic)
        if known is not None:
            return len(known.partitions)
        if self._has_replicas(topic):
            return 0
        return spec_of_automatic_topic(topic, self._config.current).num_partitions


class CoordinatorParts:
    """The coordinators of groups, transactions and share partitions. Each loads and unloads its partitions as
    the leaderships of its topic change.
    """

    def __init__(
        self,
        storage: StorageParts,
        cluster: ClusterParts,
        notices: Notices,
        lifetime: Lifetime,
    ) -> None:
        config, environment = storage.config, storage.environment
        self._storage = storage
        self._cluster = cluster
        self._notices = notices
        self._config = config
        self._environment = environment
        self._topics = CoordinatorTopics(storage.metadata, storage.replicas.has_topic, config)
        self._producer_ids = ProducerIds(cluster.decisions.allocate_producer_ids)
        # Offsets of a transaction end in the groups, which verify the transactions that commit offsets.
        self._markers = LocalMarkers(
            PartitionMarkerLog(storage.replicas),
            lambda *ended: self.groups.runtime.end_transaction(*ended),
            environment.clock,
            config.current.integer("request.timeout.ms"),
        )
        self.transactions = self._build_transactions()
        peers, metadata = cluster.peering.peers, storage.metadata
        self._verification = TransactionVerifier(self.transactions, peers, metadata, config)
        self.sharing = Sharing(
            cluster.broker_id,
            (config, metadata, storage.replicas, peers, environment),
            lambda: self._topics.partitions(SHARE_GROUP_STATE),
            lambda: cluster.decisions.ensure_topics([SHARE_GROUP_STATE]),
        )
        self.groups: GroupCoordinator = self._build_groups()
        for coordinator in (self.groups, self.transactions, self.sharing):
            lifetime.began(coordinator.stop, coordinator.stop)
        metadata.subscribe(self._image_changed)
        self.services = self._build_services()

    def _build_transactions(self) -> TransactionCoordinator:
        storage, cluster, config = self._storage, self._cluster, self._config
        clock, log = self._environment.clock, TopicLog(storage.replicas, TRANSACTION_STATE)
        routes = MarkerRoutes(self._markers, cluster.peering.peers, storage.metadata, config)
        transactions = TransactionCoordinator(
            log,
            clock,
            TransactionCoordinatorConfig.read(config.current.get),
            lambda: self._topics.partitions(TRANSACTION_STATE),
            self._producer_ids.next,
            Markers(routes, clock),
            lambda: cluster.features.level(TRANSACTION_VERSION),
            self._notices,
        )
        log.on_leadership(transactions.load, transactions.unload)
        return transactions

    def _build_groups(self) -> GroupCoordinator:
        metadata, random = self._storage.metadata, self._environment.random
        log = TopicLog(self._storage.replicas, CONSUMER_OFFSETS)
        groups = GroupCoordinator(
            log,
            self._environment.clock,
            GroupCoordinatorConfig.read(self._config.current.get),
            GroupPorts(
                lambda: self._topics.partitions(CONSUMER_OFFSETS),
                lambda: str(UUID(int=random.getrandbits(128), version=4)),
                self._verification,
                lambda: metadata.image,
                self.sharing.persister,
                self.sharing.ends,
                self._cluster.decisions.make_topics,
                self._notices,
            ),
        )
        log.on_leadership(groups.load, groups.unload)
        metadata.subscribe_to_deletions(
            lambda deleted: groups.forget_topics(lambda partition: partition[0] in deleted)
        )
        return groups

    def _build_services(self) -> Coordinators:
        metadata, clock = self._storage.metadata, self._environment.clock
        return Coordinators(
            groups=self.groups,
            share_partitions=self.sharing.partitions,
            share_sessions=self.sharing.sessions,
            share_coordinator=self.sharing.coordinator,
            transactions=self.transactions,
            verifier=self._verification,
            markers=self._markers,
            producer_ids=self._producer_ids,
            coordinator_check=CoordinatorCheck(metadata, clock, self._cluster.peering.reachability),
        )

    def start(self) -> None:
        """Start the periodic work of the coordinators."""
        self.groups.start()
        self.transactions.start()
        self.sharing.start()

    def _image_changed(self, old: ClusterImage, new: ClusterImage) -> None:
        """Resolve the groups' topic patterns again if topics were added, and forget the share partitions of
        deleted topics.
        """
        if len(new.topics) > len(old.topics):
            self.groups.topics_made()
        if old.topic_names is not new.topic_names:
            gone = old.topic_names.keys() - new.topic_names.keys()
            if gone:
                self.sharing.coordinator.forget_topics(gone)
                self.groups.forget_share_partitions(gone)
