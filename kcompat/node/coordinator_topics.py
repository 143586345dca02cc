"""The coordinators' topics, and how many partitions they have, by which a key finds its coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.controller.internal_topics import spec_of_automatic_topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.config.feed import ConfigFeed


class CoordinatorTopics:
    """The coordinators' topics as one broker knows them. Kafka's brokers ask ZooKeeper once, at the start."""

    def __init__(
        self, cluster: MetadataCache, has_replicas: Callable[[str], bool], config: ConfigFeed
    ) -> None:
        """`has_replicas(topic)` says whether this broker has partitions of it."""
        self._cluster = cluster
        self._has_replicas = has_replicas
        self._config = config

    def partitions(self, topic: str) -> int:
        """Return the number of partitions that the topic has, or will have; 0 while that is not known.

        A broker that has just started is given its partitions before it is shown the topics they are of. By
        the number that new topics get it might take a key for its own that lives in another partition.
        """
        known = self._cluster.image.topics.get(topic)
        if known is not None:
            return len(known.partitions)
        if self._has_replicas(topic):
            return 0
        return spec_of_automatic_topic(topic, self._config.current).num_partitions
