"""Whether the broker serves consumer, share and streams groups (Kafka's
`KafkaApis.isConsumerGroupProtocolEnabled`, `isShareGroupProtocolEnabled` and
`isStreamsGroupProtocolEnabled`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.feature_levels import GROUP_VERSION, SHARE_VERSION, STREAMS_VERSION
from kcompat.group.kinds.consumer.members import CONSUMER
from kcompat.group.kinds.streams.members import STREAMS

if TYPE_CHECKING:
    from kcompat.api.context import Services

FIRST_WITH_CONSUMER_GROUPS = 1
"""Lowest level of `group.version` at which all brokers of the cluster support consumer groups."""

FIRST_WITH_SHARE_GROUPS = 1
"""Lowest level of `share.version` at which the cluster has share groups."""

FIRST_WITH_STREAMS_GROUPS = 1
"""Lowest level of `streams.version` at which the cluster has streams groups."""


def serves_consumer_groups(services: Services) -> bool:
    """Return whether consumer groups are enabled by the configuration and by `group.version`."""
    is_known = services.cluster.features.level(GROUP_VERSION) >= FIRST_WITH_CONSUMER_GROUPS
    return is_known and services.coordinators.groups.serves(CONSUMER)


def serves_share_groups(services: Services) -> bool:
    """Return whether share groups are enabled by `share.version`."""
    return services.cluster.features.level(SHARE_VERSION) >= FIRST_WITH_SHARE_GROUPS


def serves_streams_groups(services: Services) -> bool:
    """Return whether streams groups are enabled by the configuration and by `streams.version`."""
    is_known = services.cluster.features.level(STREAMS_VERSION) >= FIRST_WITH_STREAMS_GROUPS
    return is_known and services.coordinators.groups.serves(STREAMS)
