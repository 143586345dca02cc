"""What brokers are told of a decision: news, made from the controller's state. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.image import PartitionInfo, TopicImage
from kcompat.cluster.news import AssignedPartition, LeaderAndIsr, Role, UpdateConfigs, UpdateMetadata

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcompat.cluster.news import News
    from kcompat.controller.state import ControlledTopic, ControllerState, Request


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
    return [(broker_id, LeaderAndIsr(partitions)) for broker_id, partitions in by_broker.items()]


def assigned(topic: ControlledTopic, index: int, *, is_new: bool) -> AssignedPartition:
    """One partition with its role."""
    partition = topic.partitions[index]
    role = Role(
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition.replicas,
        partition.partition_epoch,
    )
    return AssignedPartition(topic.name, topic.topic_id, index, role, is_new)


def picture(
    state: ControllerState, topics: Iterable[ControlledTopic], removed: Collection[str] = ()
) -> UpdateMetadata:
    """The image of the live brokers and these topics, without those `removed`."""
    brokers = {broker_id: broker.info for broker_id, broker in state.brokers.items()}
    return UpdateMetadata(state.broker_id, brokers, [_shown(topic) for topic in topics], list(removed))


def all_configs(state: ControllerState) -> UpdateConfigs:
    """All dynamic configs, but those of topics that are being deleted."""
    return UpdateConfigs(
        {
            (kind, name): configs
            for (kind, name), configs in state.entity_configs.items()
            if kind != "topics" or name in state.topics
        }
    )


def topic_configs(configs: Mapping[str, Mapping[str, str]]) -> UpdateConfigs:
    """The configs of these topics, by name."""
    return UpdateConfigs({("topics", name): values for name, values in configs.items()})


def _shown(topic: ControlledTopic) -> TopicImage:
    partitions = tuple(
        PartitionInfo(partition.leader, partition.leader_epoch, partition.isr, partition.replicas)
        for partition in topic.partitions
    )
    return TopicImage(topic.name, topic.topic_id, partitions)
