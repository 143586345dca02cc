"""Requests among brokers and the controller, in the forms of all versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from differential.play import Play

LED = {"leader": 1, "leader_epoch": 0, "isr": [1], "replicas": [1]}


def states_of(play: Play, topics: Sequence[str]) -> dict[str, Any]:
    """The fields of LeaderAndIsr and UpdateMetadata: broker 1 leads the first partition of these topics."""
    rows = [{"topic_name": topic, "partition_index": 0, **LED} for topic in topics]
    grouped = [
        {"topic_name": topic, "topic_id": play.topic_id(topic), "partition_states": [row]}
        for topic, row in zip(topics, rows, strict=True)
    ]
    return {"ungrouped_partition_states": rows, "topic_states": grouped}


def stopped(topics: Sequence[str], partitions: Sequence[int]) -> dict[str, Any]:
    """The fields of StopReplica: these partitions of each topic are no more this broker's."""
    rows = [{"partition_index": index, "leader_epoch": 0} for index in partitions]
    return {
        "ungrouped_partitions": [
            {"topic_name": topic, "partition_index": index} for topic in topics for index in partitions
        ],
        "topics": [{"name": topic, "partition_indexes": list(partitions)} for topic in topics],
        "topic_states": [{"topic_name": topic, "partition_states": rows} for topic in topics],
    }


def in_sync(play: Play, topics: Sequence[str]) -> dict[str, Any]:
    """The fields of AlterPartition: broker 1 alone is in sync in the first partition of these topics."""
    isr = {"new_isr": [1], "new_isr_with_epochs": [{"broker_id": 1, "broker_epoch": -1}]}
    row = {"partition_index": 0, "leader_epoch": 0, "partition_epoch": 0, **isr}
    return {
        "topics": [
            {"topic_name": topic, "topic_id": play.topic_id(topic), "partitions": [row]} for topic in topics
        ]
    }
