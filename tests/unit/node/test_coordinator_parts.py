"""The numbers of partitions of the coordinators' topics."""

from __future__ import annotations

import pytest

from kcompat.cluster.image import ClusterImage, PartitionInfo, TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.node.coordinator_parts import CoordinatorTopics
from kcompat.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

CONFIG = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "5",
}


def topics(cluster: MetadataCache, *replicas: str) -> CoordinatorTopics:
    return CoordinatorTopics(cluster, replicas.__contains__, ConfigFeed(BrokerConfig(CONFIG)))


@pytest.mark.parametrize(
    ("topic", "partitions"), [(CONSUMER_OFFSETS, 3), (TRANSACTION_STATE, 4), (SHARE_GROUP_STATE, 5)]
)
def test_a_topic_that_is_not_made_yet_will_have_those_of_the_configuration(
    topic: str, partitions: int
) -> None:
    assert topics(MetadataCache("cluster")).partitions(topic) == partitions


def test_a_topic_that_is_shown_has_what_it_has() -> None:
    cluster = MetadataCache("cluster")
    partitions = dict.fromkeys(range(7), PartitionInfo(1, 0, (1,), (1,)))
    cluster.update(
        ClusterImage("cluster").with_topics([TopicImage(TRANSACTION_STATE, bytes(16), partitions)])
    )
    assert topics(cluster, TRANSACTION_STATE).partitions(TRANSACTION_STATE) == 7


def test_of_a_topic_that_is_there_and_was_not_shown_nobody_knows() -> None:
    """Its partitions are given to a broker that starts before it is told of the cluster."""
    assert topics(MetadataCache("cluster"), TRANSACTION_STATE).partitions(TRANSACTION_STATE) == 0
