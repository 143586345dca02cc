"""Whether the members of a kind of groups are served (Kafka's `KafkaApis.isConsumerGroupProtocolEnabled`,
`isShareGroupProtocolEnabled` and `isStreamsGroupProtocolEnabled`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.feature_levels import GROUP_VERSION, SHARE_VERSION, STREAMS_VERSION
from kcompat.group.kinds.consumer.members import CONSUMER
from kcompat.group.kinds.streams.members import STREAMS

if TYPE_CHECKING:
    from kcompat.api.context import Services

FIRST_WITH_CONSUMER_GROUPS = 1
"""The `group.version` from which on all brokers of the cluster know consumer groups."""

FIRST_WITH_SHARE_GROUPS = 1
"""The `share.version` from which on the cluster has share groups."""

FIRST_WITH_STREAMS_GROUPS = 1
"""The `streams.version` from which on the cluster has streams groups."""


def serves_consumer_groups(services: Services) -> bool:
    """Whether the configuration has consumer groups served, and all brokers of the cluster can."""
    is_known = services.cluster.features.level(GROUP_VERSION) >= FIRST_WITH_CONSUMER_GROUPS
    return is_known and services.coordinators.groups.serves(CONSUMER)


def serves_share_groups(services: Services) -> bool:
    """Whether the cluster has share groups."""
    return services.cluster.features.level(SHARE_VERSION) >= FIRST_WITH_SHARE_GROUPS


def serves_streams_groups(services: Services) -> bool:
    """Whether the configuration has streams groups served, and the cluster has them."""
    is_known = services.cluster.features.level(STREAMS_VERSION) >= FIRST_WITH_STREAMS_GROUPS
    return is_known and services.coordinators.groups.serves(STREAMS)
