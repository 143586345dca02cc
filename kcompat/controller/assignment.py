"""Replicas of new partitions: a client's checked assignment or a computed one, with Kafka's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.placement import PlacementError, TooFewBrokersError, place_replicas
from kcompat.controller.values import USE_DEFAULT, TopicRefusedError
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from kcompat.config.broker import BrokerConfig
    from kcompat.controller.state import ControlledTopic, ControllerState
    from kcompat.controller.values import PartitionsSpec, TopicSpec

Replicas = tuple[tuple[int, ...], ...]


def replicas_of_new_topic(
    spec: TopicSpec, state: ControllerState, config: BrokerConfig, random: Random
) -> Replicas:
    """Return the replicas of each partition of a new topic, or a `TopicRefusedError`."""
    if spec.assignments:
        return _manual_topic(spec, state)
    if spec.replication_factor < USE_DEFAULT or spec.replication_factor == 0:
        raise TopicRefusedError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if spec.num_partitions < USE_DEFAULT or spec.num_partitions == 0:
        raise TopicRefusedError(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    partitions = config.num_partitions if spec.num_partitions == USE_DEFAULT else spec.num_partitions
    factor = spec.replication_factor
    if factor == USE_DEFAULT:
        factor = config.default_replication_factor
    brokers = max(len(state.brokers), 1)
    return _place(state, partitions, factor, start=random.randrange(brokers), shift=random.randrange(brokers))


def replicas_of_more_partitions(
    spec: PartitionsSpec, topic: ControlledTopic, state: ControllerState
) -> Replicas:
    """Return the replicas of the partitions added to `topic`, or a `TopicRefusedError`. Placement starts at
    the broker that is the first replica of partition 0.
    """
    existing, additional = len(topic.partitions), spec.count - len(topic.partitions)
    factor = topic.replication_factor
    if spec.assignments is not None:
        if len(spec.assignments) != additional:
            raise TopicRefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {additional} additional partition(s), but only {len(spec.assignments)} "
                "assignment(s) were specified.",
            )
        for replicas in spec.assignments:
            _check_manual(replicas, factor, [each for each in replicas if each not in state.brokers])
        return tuple(tuple(replicas) for replicas in spec.assignments)
    first = topic.partitions[0].replicas[0]
    start = max(0, next((n for n, broker in enumerate(sorted(state.brokers)) if broker >= first), 0))
    return _place(state, additional, factor, start=start, shift=start, first_partition=existing)


def _place(
    state: ControllerState, partitions: int, factor: int, *, start: int, shift: int, first_partition: int = 0
) -> Replicas:
    racks = {broker_id: broker.info.rack for broker_id, broker in state.brokers.items()}
    if any(rack is None for rack in racks.values()):
        racks = dict.fromkeys(racks)  # as in Kafka, racks count only if all brokers have one
    try:
        return place_replicas(
            racks, partitions, factor, start=start, shift=shift, first_partition=first_partition
        )
    except TooFewBrokersError as error:
        raise TopicRefusedError(ErrorCode.INVALID_REPLICATION_FACTOR, str(error)) from error
    except PlacementError as error:
        raise TopicRefusedError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, str(error)) from error


def _manual_topic(spec: TopicSpec, state: ControllerState) -> Replicas:
    if spec.replication_factor != USE_DEFAULT:
        raise TopicRefusedError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        )
    if spec.num_partitions != USE_DEFAULT:
        raise TopicRefusedError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        )
    assigned: dict[int, tuple[int, ...]] = {}
    factor: int | None = None
    for index, replicas in spec.assignments:
        if index in assigned:
            raise TopicRefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {index}",
            )
        _check_manual(replicas, factor, _unusable(replicas, state))
        factor = len(replicas)
        assigned[index] = tuple(replicas)
    if sorted(assigned) != list(range(len(assigned))):
        raise TopicRefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return tuple(assigned[index] for index in range(len(assigned)))


def _unusable(replicas: Sequence[int], state: ControllerState) -> list[int]:
    """Return the ids that a new partition cannot be assigned to. These are negative ids, and all ids if none
    of the brokers is live; brokers that are down or not registered yet are allowed beside a live one.
    """
    impossible = [broker for broker in replicas if broker < 0]
    return impossible or ([] if state.brokers.keys() & set(replicas) else list(replicas))


def _check_manual(replicas: Sequence[int], factor: int | None, unknown: Sequence[int]) -> None:
    """Check one partition's assignment; `factor` is the replication factor of the partitions before it, and
    `unknown` are the brokers that it must not contain.
    """
    problem = None
    repeated = [broker for broker in sorted(replicas) if replicas.count(broker) > 1]
    if not replicas:
        problem = "The manual partition assignment includes an empty replica list."
    elif unknown:
        problem = (
            f"The manual partition assignment includes broker {unknown[0]}, but no such broker is registered."
        )
    elif repeated:
        problem = f"The manual partition assignment includes the broker {repeated[0]} more than once."
    elif factor is not None and len(replicas) != factor:
        problem = (
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this "
            f"is not consistent with previous partitions, which have {factor} replica(s)."
        )
    if problem is not None:
        raise TopicRefusedError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
