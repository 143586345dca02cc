"""Who leads instead: what Fetch and Produce say beside an error (KIP-951)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.cluster_view import reachable_brokers
from kcompat.protocol.constants import NO_EPOCH, NO_LEADER
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.api.cluster_view import Endpoint
    from kcompat.api.context import RequestContext


def current_leader(context: RequestContext, topic: str, index: int) -> tuple[int, int]:
    """The leader of a partition and its epoch: as this broker follows it, else as it is shown to clients; -1
    where nobody knows.
    """
    partition = context.services.storage.replicas.find(topic, index)
    if not isinstance(partition, ErrorCode):
        return partition.role.leader, partition.role.leader_epoch
    shown = context.services.cluster.metadata.image.partition(topic, index)
    return (NO_LEADER, NO_EPOCH) if shown is None else (shown.leader, shown.leader_epoch)


def endpoints(context: RequestContext, leaders: Iterable[int]) -> list[Endpoint]:
    """Where the client reaches those of these brokers that it can reach."""
    reachable, brokers = reachable_brokers(context), context.services.cluster.metadata.image.brokers
    return [
        (leader, *reachable[leader], brokers[leader].rack)
        for leader in dict.fromkeys(leaders)
        if leader in reachable
    ]
