"""What brokers are told of a decision: news, made from the controller's state. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.image import LEADER_DURING_DELETION, NO_LEADER, PartitionInfo
from kcompat.cluster.news import (
    AssignedPartition,
    LeaderAndIsr,
    Role,
    ShownPartition,
    UpdateConfigs,
    UpdateMetadata,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kcompat.cluster.news import News
    from kcompat.controller.state import ControlledPartition, ControlledTopic, ControllerState, Request


def to_all(state: ControllerState, news: News) -> list[Request]:
    """The same for every live broker."""
    return [(broker_id, news) for broker_id in state.brokers]


def roles(state: ControllerState, assigned: Iterable[AssignedPartition]) -> list[Request]:
    """One LeaderAndIsr for each live broker that has a replica of these partitions."""
    by_broker: dict[int, list[AssignedPartition]] = {}
    for partition in assigned:
        for broker_id in partition.role.replicas:
            if broker_id in state.brokers:
                by_broker.setdefault(broker_id, []).append(partition)
    return [(broker_id, _leader_and_isr(state, each)) for broker_id, each in by_broker.items()]


def _leader_and_isr(state: ControllerState, partitions: Sequence[AssignedPartition]) -> LeaderAndIsr:
    leaders = {partition.role.leader for partition in partitions}
    live = [broker.info for broker_id, broker in state.brokers.items() if broker_id in leaders]
    return LeaderAndIsr(state.broker_id, state.epoch, partitions, live)


def assigned(topic: ControlledTopic, index: int, *, is_new: bool) -> AssignedPartition:
    """One partition with its role."""
    partition = topic.partitions[index]
    role = Role(
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition.replicas,
        partition.partition_epoch,
        leader_recovery_state=partition.leader_recovery_state,
    )
    return AssignedPartition(topic.name, topic.topic_id, index, role, is_new)


def picture(state: ControllerState, shown: Iterable[ShownPartition] = ()) -> UpdateMetadata:
    """The live brokers and these partitions."""
    brokers = {broker_id: broker.info for broker_id, broker in state.brokers.items()}
    return UpdateMetadata(state.broker_id, state.epoch, brokers, list(shown))


def shown(state: ControllerState, topics: Iterable[ControlledTopic]) -> Iterator[ShownPartition]:
    """All partitions of these topics, as clients find them."""
    infos: dict[ControlledPartition, PartitionInfo] = {}  # new partitions are alike
    for topic in topics:
        for index, partition in enumerate(topic.partitions):
            info = infos.get(partition)
            if info is None:
                info = infos[partition] = _info(state, partition)
            yield ShownPartition(topic.name, topic.topic_id, index, info)


def shown_partition(state: ControllerState, topic: ControlledTopic, index: int) -> ShownPartition:
    """One partition, as clients find it."""
    return ShownPartition(topic.name, topic.topic_id, index, _info(state, topic.partitions[index]))


def hidden(topics: Iterable[ControlledTopic]) -> Iterator[ShownPartition]:
    """All partitions of these topics, as those of topics that are being deleted."""
    for topic in topics:
        for index, partition in enumerate(topic.partitions):
            info = PartitionInfo(
                LEADER_DURING_DELETION, partition.leader_epoch, partition.isr, partition.replicas
            )
            yield ShownPartition(topic.name, topic.topic_id, index, info)


def topic_configs(configs: Mapping[str, Mapping[str, str]]) -> UpdateConfigs:
    """The configs of these topics, by name."""
    return UpdateConfigs({("topics", name): values for name, values in configs.items()})


def _info(state: ControllerState, partition: ControlledPartition) -> PartitionInfo:
    """Offline are the replicas without a live broker, and those whose disk has failed: all that are in sync,
    where nobody leads.
    """
    failed = partition.isr if partition.leader == NO_LEADER else ()
    replicas = partition.replicas
    offline = tuple(each for each in replicas if each not in state.brokers or each in failed)
    return PartitionInfo(partition.leader, partition.leader_epoch, partition.isr, replicas, offline)
