"""What brokers and the controller ask each other; all of it is of a controller, or a broker, that was."""

from __future__ import annotations

from typing import Any

from admission.stage import SHARED, Asker, scene
from kcompat.protocol.api_keys import ApiKey

FORMER = {"controller_id": 1, "controller_epoch": 0, "broker_epoch": 0}
NOBODY = {"broker_id": 9, "broker_epoch": 0}
TOPICS = (*SHARED, "secret-none")
LED = {"leader": 1, "leader_epoch": 0, "isr": [1], "replicas": [1]}


def states_of(play: Asker, partition: dict[str, Any]) -> dict[str, Any]:
    """The topics, in all the ways in which versions of LeaderAndIsr and UpdateMetadata name them."""
    rows = [{"topic_name": topic, "partition_index": 0, **partition} for topic in TOPICS]
    grouped = [
        {"topic_name": topic, "topic_id": play.topic_id(topic), "partition_states": [row]}
        for topic, row in zip(TOPICS, rows, strict=True)
    ]
    return {"ungrouped_partition_states": rows, "topic_states": grouped}


@scene(ApiKey.LEADER_AND_ISR, *range(8))
def leader_and_isr(play: Asker, version: int) -> None:
    play.call(ApiKey.LEADER_AND_ISR, version, **FORMER, **states_of(play, LED))
    play.call(ApiKey.LEADER_AND_ISR, version, **FORMER)


@scene(ApiKey.STOP_REPLICA, *range(5))
def stop_replica(play: Asker, version: int) -> None:
    rows = [{"partition_index": 0, "leader_epoch": 0}, {"partition_index": 3, "leader_epoch": 0}]
    topics = {
        "ungrouped_partitions": [{"topic_name": topic, "partition_index": 0} for topic in TOPICS],
        "topics": [{"name": topic, "partition_indexes": [0, 3]} for topic in TOPICS],
        "topic_states": [{"topic_name": topic, "partition_states": rows} for topic in TOPICS],
    }
    play.call(ApiKey.STOP_REPLICA, version, **FORMER, **topics)
    play.call(ApiKey.STOP_REPLICA, version, **FORMER)


@scene(ApiKey.UPDATE_METADATA, *range(9))
def update_metadata(play: Asker, version: int) -> None:
    play.call(ApiKey.UPDATE_METADATA, version, **FORMER, **states_of(play, LED))


@scene(ApiKey.CONTROLLED_SHUTDOWN, *range(4))
def controlled_shutdown(play: Asker, version: int) -> None:
    play.call(ApiKey.CONTROLLED_SHUTDOWN, version, **NOBODY)


@scene(ApiKey.ALTER_PARTITION, *range(4))
def alter_partition(play: Asker, version: int) -> None:
    isr = {"new_isr": [1], "new_isr_with_epochs": [{"broker_id": 1, "broker_epoch": -1}]}
    topics = [
        {
            "topic_name": topic,
            "topic_id": play.topic_id(topic),
            "partitions": [{"partition_index": 0, "leader_epoch": 0, "partition_epoch": 0, **isr}],
        }
        for topic in TOPICS
    ]
    play.call(ApiKey.ALTER_PARTITION, version, **NOBODY, topics=topics)


@scene(ApiKey.ALLOCATE_PRODUCER_IDS)
def allocate_producer_ids(play: Asker, version: int) -> None:
    play.call(ApiKey.ALLOCATE_PRODUCER_IDS, version, **NOBODY)
