"""Whether a broker is ready: it serves clients, coordinates its groups, and its replicas are in sync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.observe.scrape import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.node.hooks import Hooks
    from kcompat.node.parts import Parts

MOST_NAMED: Final = 5
"""Maximum number of partitions that a sentence names."""


def not_ready(broker: Hooks) -> list[str]:
    """Return the reasons why a broker is not ready, each as a sentence; an empty list if it is ready."""
    if not broker.is_serving:
        return ["the broker is starting or stopping"]
    return list(_reasons(parts_of(broker)))


def _reasons(parts: Parts) -> Iterator[str]:
    broker_id = parts.cluster.broker_id
    image = parts.storage.metadata.image
    if parts.cluster.registration.epoch < 0 or broker_id not in image.brokers:
        yield "the broker is not registered in its cluster"
    if not image.is_from_controller:
        yield "no controller has sent the metadata of the cluster yet"
    coordinators = parts.coordinators
    for name, runtime in (
        ("groups", coordinators.groups.runtime),
        ("transactions", coordinators.transactions.runtime),
        ("share groups", coordinators.sharing.coordinator.runtime),
    ):
        if runtime.is_loading:
            yield f"the coordinator of {name} is still loading"
    for directory in parts.storage.logs.directories:
        if directory.offline is not None:
            yield f"the log directory {directory.path} has failed"
    late = [
        f"{topic.name}-{index}"
        for topic in image.topics.values()
        for index, partition in topic.partitions.items()
        if broker_id in partition.replicas and broker_id not in partition.isr
    ]
    if late:
        more = f" and {len(late) - MOST_NAMED} more" if len(late) > MOST_NAMED else ""
        yield f"replicas of this broker are not in sync: {', '.join(late[:MOST_NAMED])}{more}"
