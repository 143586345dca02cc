"""LeaderAndIsr in every version: conversion of the control request to the message and back. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.cluster.control_requests import AssignedPartition, LeaderAndIsr, Reply, Role
from kcompat.cluster.image import BrokerInfo
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kcompat.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIRST_BY_TOPIC: Final = 2
FIRST_ANSWERED_BY_ID: Final = 5
FIRST_WITH_RECOVERY: Final = 6

_State = LeaderAndIsrRequest.LeaderAndIsrPartitionState
_TopicState = LeaderAndIsrRequest.LeaderAndIsrTopicState
_Leader = LeaderAndIsrRequest.LeaderAndIsrLiveLeader
_Error = LeaderAndIsrResponse.LeaderAndIsrPartitionError
_TopicError = LeaderAndIsrResponse.LeaderAndIsrTopicError


def request_of(control: LeaderAndIsr, version: int, broker_epoch: int, listener: str) -> LeaderAndIsrRequest:
    """Return the LeaderAndIsr request for a broker with this epoch; leaders have their addresses of this
    listener.
    """
    leaders = [
        _Leader(leader.id, *leader.endpoints[listener])
        for leader in control.live_leaders
        if listener in leader.endpoints
    ]
    request = LeaderAndIsrRequest(
        controller_id=control.controller_id,
        controller_epoch=control.controller_epoch,
        broker_epoch=broker_epoch,
        live_leaders=leaders,
    )
    if version < FIRST_BY_TOPIC:
        request.ungrouped_partition_states = [_state(each, control, version) for each in control.partitions]
        return request
    topics: dict[str, _TopicState] = {}
    for partition in control.partitions:
        topic = topics.get(partition.topic)
        if topic is None:
            topic = topics[partition.topic] = _TopicState(partition.topic, partition.topic_id)
        topic.partition_states.append(_state(partition, control, version))
    request.topic_states = list(topics.values())
    return request


def _state(partition: AssignedPartition, control: LeaderAndIsr, version: int) -> _State:
    role = partition.role
    return _State(
        topic_name=partition.topic,
        partition_index=partition.index,
        controller_epoch=control.controller_epoch,
        leader=role.leader,
        leader_epoch=role.leader_epoch,
        isr=list(role.isr),
        partition_epoch=role.partition_epoch,
        replicas=list(role.replicas),
        adding_replicas=list(role.adding),
        removing_replicas=list(role.removing),
        is_new=partition.is_new,
        leader_recovery_state=role.leader_recovery_state if version >= FIRST_WITH_RECOVERY else 0,
    )


def control_request_of(request: LeaderAndIsrRequest, listener: str) -> LeaderAndIsr:
    """Return the control request in a LeaderAndIsr request; `listener` is the inter-broker listener of the
    leaders' addresses.
    """
    partitions = [
        _assigned(state.topic_name, ZERO_UUID, state) for state in request.ungrouped_partition_states
    ]
    partitions += [
        _assigned(topic.topic_name, topic.topic_id, state)
        for topic in request.topic_states
        for state in topic.partition_states
    ]
    leaders = [
        BrokerInfo(leader.broker_id, None, {listener: (leader.host_name, leader.port)})
        for leader in request.live_leaders
    ]
    return LeaderAndIsr(request.controller_id, request.controller_epoch, partitions, leaders)


def _assigned(topic: str, topic_id: bytes, state: _State) -> AssignedPartition:
    role = Role(
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=tuple(state.isr),
        replicas=tuple(state.replicas),
        partition_epoch=state.partition_epoch,
        adding=tuple(state.adding_replicas),
        removing=tuple(state.removing_replicas),
        leader_recovery_state=state.leader_recovery_state,
    )
    return AssignedPartition(topic, topic_id, state.partition_index, role, state.is_new)


def response_of(partitions: Sequence[AssignedPartition], reply: Reply, version: int) -> LeaderAndIsrResponse:
    """Return the LeaderAndIsr response: a row for each partition, with the error of the whole request if
    there is one.
    """
    response = LeaderAndIsrResponse(error_code=reply.error)
    topics: dict[bytes, _TopicError] = {}
    for partition in partitions:
        error = reply.error or reply.partitions.get((partition.topic, partition.index), ErrorCode.NONE)
        row = _Error(partition.topic, partition.index, error)
        if version < FIRST_ANSWERED_BY_ID:
            response.partition_errors.append(row)
            continue
        topic = topics.get(partition.topic_id)
        if topic is None:
            topic = topics[partition.topic_id] = _TopicError(partition.topic_id)
        topic.partition_errors.append(row)
    response.topics = list(topics.values())
    return response


def reply_of(response: LeaderAndIsrResponse, control: LeaderAndIsr) -> Reply:
    """Return the reply in a LeaderAndIsr response to `control`.

    From version 5 on a response has no name for a topic without an id: an error in such a row counts for the
    partition of that number in each of these topics.
    """
    failed = {
        (row.topic_name, row.partition_index): error_of(row.error_code)
        for row in response.partition_errors
        if row.error_code
    }
    names: dict[bytes, set[str]] = {}
    for partition in control.partitions:
        names.setdefault(partition.topic_id, set()).add(partition.topic)
    known: Mapping[bytes, set[str]] = names
    for topic in response.topics:
        for row in topic.partition_errors:
            if row.error_code:
                for name in known.get(topic.topic_id, ()):
                    failed[name, row.partition_index] = error_of(row.error_code)
    asked = {(partition.topic, partition.index) for partition in control.partitions}
    return Reply(error_of(response.error_code), {key: error for key, error in failed.items() if key in asked})
