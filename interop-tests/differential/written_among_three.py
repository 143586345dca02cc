"""Answers of three brokers about records written or deleted while not all replicas are there: played to a
cluster of ours and to real Kafkas with a ZooKeeper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.cluster_stage import FIRST, SECOND, THIRD
from differential.play import batch
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.cluster_stage import Stage

VERSION = 9
SOON_MS = 500
LATER_MS = 15_000


def producing(topic: str, data: bytes, timeout_ms: int = LATER_MS) -> dict[str, Any]:
    """The fields of a Produce with acks=all."""
    rows = [{"name": topic, "partition_data": [{"index": 0, "records": data}]}]
    return {"acks": -1, "timeout_ms": timeout_ms, "topic_data": rows}


def deleting(topic: str, timeout_ms: int = LATER_MS) -> dict[str, Any]:
    """The fields of a DeleteRecords up to offset 1."""
    offsets = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 1}]}]
    return {"topics": offsets, "timeout_ms": timeout_ms}


def unfinished_requests(stage: Stage) -> None:
    """Compare the answers about batches that were appended, and records deleted, while a replica hangs."""
    topic = stage.topic([FIRST, SECOND, THIRD])
    play = stage.brokers[FIRST]
    play.append(topic, b"first")
    with stage.frozen(THIRD):
        play.call(ApiKey.PRODUCE, VERSION, **producing(topic, batch(b"late"), SOON_MS))
        play.call(ApiKey.DELETE_RECORDS, 2, **deleting(topic, SOON_MS))
        play.send(ApiKey.PRODUCE, VERSION, **producing(topic, batch(b"of a former leader")))
        stage.lead_elsewhere(topic, [SECOND, FIRST, THIRD])
        play.receive(ApiKey.PRODUCE, VERSION)
    stage.settle(topic, 0, [SECOND, FIRST, THIRD])


def a_topic_of_two(stage: Stage) -> str:
    """A topic that needs its third broker, whose log starts behind offset 0."""
    topic = stage.topic([FIRST, THIRD])
    for value in (b"one", b"two"):
        stage.brokers[FIRST].append(topic, value)
    stage.brokers[FIRST].do(ApiKey.DELETE_RECORDS, 2, **deleting(topic))
    return topic


def too_few_replicas(stage: Stage, topic: str) -> None:
    """Compare the answers about a batch for which too few replicas are in sync."""
    stage.brokers[FIRST].call(ApiKey.PRODUCE, VERSION, **producing(topic, batch(b"three")))
