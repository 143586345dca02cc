"""Control requests for brokers, made from the controller's state after a decision. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.control_requests import (
    AssignedPartition,
    LeaderAndIsr,
    Role,
    UpdateConfigs,
    UpdatedPartition,
    UpdateMetadata,
)
from kcompat.cluster.image import LEADER_DURING_DELETION, PartitionInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kcompat.cluster.control_requests import ControlRequest
    from kcompat.controller.state import ControlledPartition, ControlledTopic, ControllerState, Request


def to_all(state: ControllerState, control: ControlRequest) -> list[Request]:
    """Return a request with `control` for every live broker."""
    return [(broker_id, control) for broker_id in state.brokers]


def roles(state: ControllerState, assigned: Iterable[AssignedPartition]) -> list[Request]:
    """Return one LeaderAndIsr for each live broker that has a replica of these partitions."""
    by_broker: dict[int, list[AssignedPartition]] = {}
    for partition in assigned:
        for broker_id in partition.role.replicas:
            if broker_id in state.brokers:
                by_broker.setdefault(broker_id, []).append(partition)
    return [(broker_id, leader_and_isr(state, each)) for broker_id, each in by_broker.items()]


def leader_and_isr(state: ControllerState, partitions: Sequence[AssignedPartition]) -> LeaderAndIsr:
    """Return the LeaderAndIsr with these partitions and the brokers that lead them."""
    leaders = {partition.role.leader for partition in partitions}
    live = [broker.info for broker_id, broker in state.brokers.items() if broker_id in leaders]
    return LeaderAndIsr(state.broker_id, state.epoch, partitions, live)


def assigned(topic: ControlledTopic, index: int, *, is_new: bool) -> AssignedPartition:
    """Return the row of one partition in a LeaderAndIsr."""
    partition = topic.partitions[index]
    role = Role(
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition.replicas,
        partition.partition_epoch,
        partition.adding,
        partition.removing,
        partition.leader_recovery_state,
    )
    return AssignedPartition(topic.name, topic.topic_id, index, role, is_new)


def metadata_update(
    state: ControllerState, updated_partitions: Iterable[UpdatedPartition] = ()
) -> UpdateMetadata:
    """Return the metadata update with these partitions and all brokers that are live or presumed dead."""
    live, dead = (
        {broker_id: broker.info for broker_id, broker in brokers.items()}
        for brokers in (state.brokers, state.presumed_dead)
    )
    return UpdateMetadata(state.broker_id, state.epoch, live, list(updated_partitions), dead)


def updated_partitions(
    state: ControllerState, topics: Iterable[ControlledTopic]
) -> Iterator[UpdatedPartition]:
    """Yield the rows of all partitions of these topics for a metadata update."""
    infos: dict[ControlledPartition, PartitionInfo] = {}  # new partitions are alike
    for topic in topics:
        for index, partition in enumerate(topic.partitions):
            info = None if state.failed else infos.get(partition)
            if info is None:
                info = infos[partition] = _info(state, topic, index)
            yield UpdatedPartition(topic.name, topic.topic_id, index, info)


def updated_partition(state: ControllerState, topic: ControlledTopic, index: int) -> UpdatedPartition:
    """Return the row of one partition for a metadata update."""
    return UpdatedPartition(topic.name, topic.topic_id, index, _info(state, topic, index))


def deleted_partitions(topics: Iterable[ControlledTopic]) -> Iterator[UpdatedPartition]:
    """Yield rows that remove all partitions of these topics from the images."""
    for topic in topics:
        for index, partition in enumerate(topic.partitions):
            info = PartitionInfo(
                LEADER_DURING_DELETION, partition.leader_epoch, partition.isr, partition.replicas
            )
            yield UpdatedPartition(topic.name, topic.topic_id, index, info)


def topic_configs(configs: Mapping[str, Mapping[str, str]]) -> UpdateConfigs:
    """Return the update with the configs of these topics, by name."""
    return UpdateConfigs({("topics", name): values for name, values in configs.items()})


def _info(state: ControllerState, topic: ControlledTopic, index: int) -> PartitionInfo:
    """Return a partition as clients see it; replicas without a live broker or a working disk are offline."""
    partition, name = topic.partitions[index], topic.name
    offline = tuple(each for each in partition.replicas if not state.is_live(each, name, index))
    return PartitionInfo(partition.leader, partition.leader_epoch, partition.isr, partition.replicas, offline)
