"""Requests that several tests of the cluster's APIs send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kcompat.api import metadata
from kcompat.cluster.image import BrokerInfo, PartitionInfo, TopicImage
from kcompat.protocol.messages.metadata import MetadataRequest

if TYPE_CHECKING:
    from support.cluster_of_one import ClusterFixture

Row = MetadataRequest.MetadataRequestTopic


# Bit fields of one who may do everything, and of one who did not ask.
ALL_OF_TOPIC = 3576
ALL_OF_CLUSTER = 8096
NOT_ASKED = -2147483648


async def ask_metadata(fixture: ClusterFixture, version: int, *names: str, **fields: Any) -> Any:
    """The metadata of these topics, which creates those that are missing."""
    request = MetadataRequest(topics=[Row(name=name) for name in names], **fields)
    return await fixture.ask(metadata, version, request)


def with_a_dead_broker(fixture: ClusterFixture) -> None:
    """Show a topic "t" on brokers 1 and 2. The process of broker 2 has ended and its session has not; broker
    3, whose process has ended too, has another listener than the client's.
    """
    topic = TopicImage("t", b"t" * 16, {0: PartitionInfo(1, 5, (1,), (2, 1), (2,))})
    dead = {
        2: BrokerInfo(2, "r2", {"PLAINTEXT": ("h2", 9092)}),
        3: BrokerInfo(3, None, {"INTERNAL": ("h3", 9092)}),
    }
    fixture.cluster.update(replace(fixture.cluster.image.with_topics([topic]), presumed_dead=dead))


def with_a_world_of_three(fixture: ClusterFixture) -> None:
    """Broker 2 has another listener than the client's, broker 3 is down."""
    partitions = {
        0: PartitionInfo(1, 5, (1, 2), (1, 2, 3)),
        1: PartitionInfo(2, 6, (2,), (2, 1)),
        2: PartitionInfo(-1, 7, (3,), (3,)),
    }
    brokers = {**fixture.cluster.image.brokers, 2: BrokerInfo(2, None, {"INTERNAL": ("h2", 1)})}
    image = fixture.cluster.image.with_topics([TopicImage("t", b"t" * 16, partitions)])
    fixture.cluster.update(replace(image, brokers=brokers))
