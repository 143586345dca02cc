"""StopReplica in every version: conversion of the control request to the message and back. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.cluster.control_requests import NO_LEADER_EPOCH, Reply, StoppedPartition, StopReplica
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST_BY_TOPIC: Final = 1
FIRST_WITH_EPOCHS: Final = 3
"""Version from which each partition has a delete flag and a leader epoch; older ones have
one flag for all.
"""

_V0 = StopReplicaRequest.StopReplicaPartitionV0
_V1 = StopReplicaRequest.StopReplicaTopicV1
_TopicState = StopReplicaRequest.StopReplicaTopicState
_State = StopReplicaRequest.StopReplicaPartitionState
_Error = StopReplicaResponse.StopReplicaPartitionError


def split(control: StopReplica) -> list[StopReplica]:
    """Split a request, for old versions, into one that keeps all its replicas and one that deletes all."""
    kept = [partition for partition in control.partitions if not partition.delete]
    deleted = [partition for partition in control.partitions if partition.delete]
    return [
        StopReplica(control.controller_id, control.controller_epoch, partitions)
        for partitions in (kept, deleted)
        if partitions
    ]


def request_of(control: StopReplica, version: int, broker_epoch: int) -> StopReplicaRequest:
    """Return the StopReplica request for a broker with this epoch; `control` is one that `split` returned."""
    request = StopReplicaRequest(
        controller_id=control.controller_id,
        controller_epoch=control.controller_epoch,
        broker_epoch=broker_epoch,
    )
    if version < FIRST_WITH_EPOCHS:
        request.delete_partitions = any(partition.delete for partition in control.partitions)
    if version < FIRST_BY_TOPIC:
        request.ungrouped_partitions = [
            _V0(partition.topic, partition.index) for partition in control.partitions
        ]
        return request
    topics: dict[str, list[StoppedPartition]] = {}
    for partition in control.partitions:
        topics.setdefault(partition.topic, []).append(partition)
    if version < FIRST_WITH_EPOCHS:
        request.topics = [
            _V1(name, [partition.index for partition in partitions]) for name, partitions in topics.items()
        ]
    else:
        request.topic_states = [
            _TopicState(name, [_State(each.index, each.leader_epoch, each.delete) for each in partitions])
            for name, partitions in topics.items()
        ]
    return request


def control_request_of(request: StopReplicaRequest) -> StopReplica:
    """Return the control request in a StopReplica request."""
    delete = request.delete_partitions
    partitions = [
        StoppedPartition(partition.topic_name, partition.partition_index, NO_LEADER_EPOCH, delete)
        for partition in request.ungrouped_partitions
    ]
    partitions += [
        StoppedPartition(topic.name, index, NO_LEADER_EPOCH, delete)
        for topic in request.topics
        for index in topic.partition_indexes
    ]
    partitions += [
        StoppedPartition(topic.topic_name, state.partition_index, state.leader_epoch, state.delete_partition)
        for topic in request.topic_states
        for state in topic.partition_states
    ]
    return StopReplica(request.controller_id, request.controller_epoch, partitions)


def response_of(partitions: Sequence[StoppedPartition], reply: Reply) -> StopReplicaResponse:
    """Return the StopReplica response: a row for each partition."""
    rows = [
        _Error(each.topic, each.index, reply.partitions.get((each.topic, each.index), ErrorCode.NONE))
        for each in partitions
    ]
    return StopReplicaResponse(reply.error, rows)


def reply_of(response: StopReplicaResponse) -> Reply:
    """Return the reply in a StopReplica response."""
    failed = {
        (row.topic_name, row.partition_index): error_of(row.error_code)
        for row in response.partition_errors
        if row.error_code
    }
    return Reply(error_of(response.error_code), failed)
