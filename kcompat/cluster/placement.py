"""Placement of the replicas of new partitions on brokers. Kafka's counterpart:
`AdminUtils.assignReplicasToBrokers`.

Leaders go round the brokers from a start index. Followers keep a distance to their leader that grows by one
with every round, so that the partitions of one leader have their followers on different brokers. With racks,
the brokers are first dealt out rack by rack, and no rack gets a second replica while another has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PlacementError(Exception):
    """Replicas cannot be placed; the message is sent to the client."""


class TooFewBrokersError(PlacementError):
    """The replication factor is not between 1 and the number of brokers."""


def place_replicas(
    racks: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    *,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> tuple[tuple[int, ...], ...]:
    """Return the replicas of `partitions` new partitions on the brokers of `racks` (id -> rack or None),
    leader first.

    `start` is the index of the first leader in the broker list, `shift` the first distance of followers from
    their leader; callers draw both at random below the number of brokers. `first_partition` is the present
    number of partitions of the topic. Raises `TooFewBrokersError`, and `PlacementError` if only some brokers
    have a rack.
    """
    if not 0 < replication_factor <= len(racks):
        raise TooFewBrokersError(
            f"Unable to replicate the partition {replication_factor} time(s): "
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(racks)} broker(s) are registered."
        )
    named = {broker: rack for broker, rack in racks.items() if rack is not None}
    if named and len(named) < len(racks):
        raise PlacementError("Not all brokers have rack information for replica rack aware assignment.")
    brokers = _dealt_by_rack(named) if named else sorted(racks)
    placed = []
    for number in range(first_partition, first_partition + partitions):
        if number > 0 and number % len(brokers) == 0:
            shift += 1
        placed.append(_replicas(brokers, named, number + start, shift, replication_factor))
    return tuple(placed)


def _dealt_by_rack(racks: Mapping[int, str]) -> list[int]:
    """Return the brokers in an order that takes one of each rack in turn: racks by name, brokers of a rack
    ascending.
    """
    queues = [
        sorted(broker for broker in racks if racks[broker] == rack) for rack in sorted(set(racks.values()))
    ]
    return [
        queue[turn]
        for turn in range(max(len(queue) for queue in queues))
        for queue in queues
        if turn < len(queue)
    ]


def _replicas(
    brokers: Sequence[int], racks: Mapping[int, str], first: int, shift: int, replication_factor: int
) -> tuple[int, ...]:
    """Return the replicas of one partition: the leader at index `first`, followers by distance."""
    count, first = len(brokers), first % len(brokers)
    chosen = [brokers[first]]
    if not racks:
        distances = (1 + (shift + follower) % (count - 1) for follower in range(replication_factor - 1))
        return (*chosen, *(brokers[(first + distance) % count] for distance in distances))
    rack_count = len(set(racks.values()))
    step = 0
    while len(chosen) < replication_factor:
        candidate = brokers[(first + 1 + (shift * rack_count + step) % (count - 1)) % count]
        step += 1
        used_racks = {racks[broker] for broker in chosen}
        rack_is_free = racks[candidate] not in used_racks or len(used_racks) == rack_count
        if candidate not in chosen and rack_is_free:
            chosen.append(candidate)
    return tuple(chosen)
