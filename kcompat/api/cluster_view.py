"""Brokers, partitions and leaders as responses show them: in Metadata and related APIs, and as the current
leader in Fetch and Produce (KIP-951).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.constants import NO_EPOCH, NO_LEADER
from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from kcompat.topics import name_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from kcompat.api.context import RequestContext
    from kcompat.cluster.image import BrokerInfo, ClusterImage, PartitionInfo


Endpoint = tuple[int, str, int, str | None]
"""Id, host, port and rack of a broker."""


def reachable_brokers(context: RequestContext) -> dict[int, tuple[str, int]]:
    """Return host and port, by broker id, of the live brokers that have the client's listener.

    A single broker without `advertised.listeners` returns the address at which the client reached it. One of
    several brokers must not do so: the others return its registered address, and a client that gets both
    addresses in turn takes the broker for moved. librdkafka then closes its connection and loses the requests
    under way.
    """
    services, listener = context.services, context.listener
    image = services.cluster.metadata.image
    brokers = image.brokers
    if (
        brokers.keys() == {services.cluster.broker_id}
        and not image.presumed_dead
        and services.cluster.keeps_metadata
        and listener not in services.server.config.advertised
    ):
        return {services.cluster.broker_id: context.local_address}
    return {
        broker.id: broker.endpoints[listener] for broker in brokers.values() if listener in broker.endpoints
    }


def listed_brokers(context: RequestContext, reachable: Mapping[int, tuple[str, int]]) -> list[Endpoint]:
    """Return the brokers to list to a client: its `reachable_brokers`, then the brokers that are presumed
    dead and have the client's listener.
    """
    image, listener = context.services.cluster.metadata.image, context.listener
    live = [(each, *at, image.brokers[each].rack) for each, at in reachable.items()]
    dead = [
        (each.id, *each.endpoints[listener], each.rack)
        for each in image.presumed_dead.values()
        if listener in each.endpoints
    ]
    return live + dead


def cluster_operations(context: RequestContext) -> int:
    """Return the operations that the client may perform on the cluster, as a bit field.

    The field is empty for a client that may not describe the cluster.
    """
    return context.operations_on(CLUSTER) if context.may(Operation.DESCRIBE, CLUSTER) else 0


def absence_error(name: str, image: ClusterImage) -> ErrorCode:
    """Return the error for a topic name that is not in the image.

    A broker without a metadata update must not return UNKNOWN_TOPIC_OR_PARTITION: librdkafka would give up a
    topic that it writes to. LEADER_NOT_AVAILABLE makes every client retry.
    """
    if name_problem(name):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if not image.is_from_controller:
        return ErrorCode.LEADER_NOT_AVAILABLE
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def leader_error(
    partition: PartitionInfo, brokers: Mapping[int, BrokerInfo], reachable: AbstractSet[int]
) -> ErrorCode:
    """Return NONE, or the error of a partition without a leader or whose leader lacks the client's
    listener.
    """
    if partition.leader in reachable:
        return ErrorCode.NONE
    return ErrorCode.LISTENER_NOT_FOUND if partition.leader in brokers else ErrorCode.LEADER_NOT_AVAILABLE


def offline_replicas(partition: PartitionInfo, reachable: AbstractSet[int]) -> list[int]:
    """Return the replicas that the client cannot reach, or that are offline according to the controller."""
    offline = partition.offline
    return [replica for replica in partition.replicas if replica not in reachable or replica in offline]


def current_leader(context: RequestContext, topic: str, index: int) -> tuple[int, int]:
    """Return the leader of a partition and its epoch (KIP-951), from the local replica or else from the
    metadata image; -1 for both if neither has the partition.
    """
    partition = context.services.storage.replicas.find(topic, index)
    if not isinstance(partition, ErrorCode):
        return partition.role.leader, partition.role.leader_epoch
    shown = context.services.cluster.metadata.image.partition(topic, index)
    return (NO_LEADER, NO_EPOCH) if shown is None else (shown.leader, shown.leader_epoch)


def endpoints(context: RequestContext, leaders: Iterable[int]) -> list[Endpoint]:
    """Return the addresses of the given leaders that the client can reach."""
    reachable, brokers = reachable_brokers(context), context.services.cluster.metadata.image.brokers
    return [
        (leader, *reachable[leader], brokers[leader].rack)
        for leader in dict.fromkeys(leaders)
        if leader in reachable
    ]
