"""UpdateMetadata in every version: conversion of the control request to the message and back. Pure.

A broker that is presumed dead is sent as a live one. So a Kafka broker still names it to clients, as Kafka
does until a session ends. From version 6 on, a tagged field tells kcompat brokers that it is not alive.

Versions 0 to 2 name no listeners: a listener is called like its security protocol there, and version 0 knows
only the one called PLAINTEXT.
"""

from __future__ import annotations

from typing import Final

from kcompat.cluster.control_requests import Reply, UpdatedPartition, UpdateMetadata
from kcompat.cluster.image import BrokerInfo, PartitionInfo
from kcompat.protocol.errors import error_of
from kcompat.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kcompat.protocol.uuids import ZERO_UUID

FIRST_WITH_ENDPOINTS: Final = 1
FIRST_WITH_LISTENERS: Final = 3
FIRST_BY_TOPIC: Final = 5

PLAINTEXT: Final = "PLAINTEXT"
_PROTOCOLS: Final = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Security protocols by their number in the message."""

_State = UpdateMetadataRequest.UpdateMetadataPartitionState
_TopicState = UpdateMetadataRequest.UpdateMetadataTopicState
_Broker = UpdateMetadataRequest.UpdateMetadataBroker
_Endpoint = UpdateMetadataRequest.UpdateMetadataEndpoint


def request_of(control: UpdateMetadata, version: int, broker_epoch: int) -> UpdateMetadataRequest:
    """Return the UpdateMetadata request for a broker with this epoch. Raises ValueError if the version cannot
    name a listener.
    """
    request = UpdateMetadataRequest(
        controller_id=control.controller_id,
        controller_epoch=control.controller_epoch,
        broker_epoch=broker_epoch,
        live_brokers=[
            _broker(broker, version)
            for broker in (*control.brokers.values(), *control.presumed_dead.values())
        ],
        presumed_dead=list(control.presumed_dead),
    )
    if version < FIRST_BY_TOPIC:
        request.ungrouped_partition_states = [
            _state(updated, control.controller_epoch) for updated in control.partitions
        ]
        return request
    topics: dict[str, _TopicState] = {}
    for updated in control.partitions:
        topic = topics.get(updated.topic)
        if topic is None:
            topic = topics[updated.topic] = _TopicState(updated.topic, updated.topic_id)
        topic.partition_states.append(_state(updated, control.controller_epoch))
    request.topic_states = list(topics.values())
    return request


def _broker(broker: BrokerInfo, version: int) -> _Broker:
    row = _Broker(id=broker.id, rack=broker.rack)
    if version < FIRST_WITH_ENDPOINTS:
        if PLAINTEXT not in broker.endpoints:
            raise ValueError(f"broker {broker.id} has no listener {PLAINTEXT}, the only one of version 0")
        row.v0_host, row.v0_port = broker.endpoints[PLAINTEXT]
        return row
    for listener, (host, port) in broker.endpoints.items():
        protocol = broker.security_protocols.get(listener, PLAINTEXT)
        if version < FIRST_WITH_LISTENERS and listener != protocol:
            raise ValueError(f"version {version} cannot tell of a listener {listener} of {protocol}")
        row.endpoints.append(_Endpoint(port, host, listener, _PROTOCOLS.index(protocol)))
    return row


def _state(updated: UpdatedPartition, controller_epoch: int) -> _State:
    info = updated.info
    return _State(
        topic_name=updated.topic,
        partition_index=updated.index,
        controller_epoch=controller_epoch,
        leader=info.leader,
        leader_epoch=info.leader_epoch,
        isr=list(info.isr),
        replicas=list(info.replicas),
        offline_replicas=list(info.offline),
    )


def control_request_of(request: UpdateMetadataRequest) -> UpdateMetadata:
    """Return the control request in an UpdateMetadata request. Raises ValueError for an unknown security
    protocol.
    """
    partitions = [_shown(state.topic_name, ZERO_UUID, state) for state in request.ungrouped_partition_states]
    partitions += [
        _shown(topic.topic_name, topic.topic_id, state)
        for topic in request.topic_states
        for state in topic.partition_states
    ]
    dead = set(request.presumed_dead)
    brokers = {broker.id: _info(broker) for broker in request.live_brokers}
    return UpdateMetadata(
        request.controller_id,
        request.controller_epoch,
        {each: broker for each, broker in brokers.items() if each not in dead},
        partitions,
        {each: broker for each, broker in brokers.items() if each in dead},
    )


def _shown(topic: str, topic_id: bytes, state: _State) -> UpdatedPartition:
    info = PartitionInfo(
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=tuple(state.isr),
        replicas=tuple(state.replicas),
        offline=tuple(state.offline_replicas),
    )
    return UpdatedPartition(topic, topic_id, state.partition_index, info)


def _info(broker: _Broker) -> BrokerInfo:
    endpoints: dict[str, tuple[str, int]] = {}
    protocols: dict[str, str] = {}
    if broker.v0_host:
        endpoints[PLAINTEXT] = (broker.v0_host, broker.v0_port)
        protocols[PLAINTEXT] = PLAINTEXT
    for endpoint in broker.endpoints:
        if not 0 <= endpoint.security_protocol < len(_PROTOCOLS):
            raise ValueError(f"there is no security protocol {endpoint.security_protocol}")
        protocol = _PROTOCOLS[endpoint.security_protocol]
        listener = endpoint.listener or protocol
        endpoints[listener] = (endpoint.host, endpoint.port)
        protocols[listener] = protocol
    return BrokerInfo(broker.id, broker.rack or None, endpoints, protocols)


def response_of(reply: Reply) -> UpdateMetadataResponse:
    """Return the UpdateMetadata response that carries a reply."""
    return UpdateMetadataResponse(reply.error)


def reply_of(response: UpdateMetadataResponse) -> Reply:
    """Return the reply in an UpdateMetadata response."""
    return Reply(error_of(response.error_code))
