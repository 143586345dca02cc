"""A broker that takes a controller's orders, over logs on the disk."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from kcompat.cluster.control_requests import AssignedPartition, LeaderAndIsr, Reply
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.replication.local_broker import LocalBroker
from kcompat.replication.replica_manager import ReplicaManager

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.control_requests import ControlRequest
    from kcompat.log.manager import LogManager
    from support.virtual_clock import VirtualClock

NEW = b"n" * 16
"""The id of a topic."""
DONE = Reply()
"""The answer where nothing has failed."""


def local_broker(
    logs: LogManager, clock: VirtualClock, config: Mapping[str, str] = MappingProxyType({})
) -> LocalBroker:
    """Broker 1, without a cluster."""
    cluster = MetadataCache("cluster")
    return LocalBroker(
        ConfigFeed(BrokerConfig(dict(config))), cluster, logs, ReplicaManager(1, clock, cluster)
    )


def told(local: LocalBroker, news: ControlRequest) -> Reply:
    """Give a broker a control request, and return its reply."""
    replies: list[Reply] = []
    local.give(news, replies.append)
    (reply,) = replies
    return reply


def take(*assigned: AssignedPartition, controller_epoch: int = 1) -> LeaderAndIsr:
    """Roles that a controller gives."""
    return LeaderAndIsr(1, controller_epoch, assigned)
