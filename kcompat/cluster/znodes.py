"""Kafka's znodes: their paths, and their JSON payloads as Kafka 3.9 writes them (`kafka.zk.ZkData`).

Payloads of older versions are read too. A payload that cannot be read raises `DamagedZnodeError`. Topic ids
are 16 bytes in Python and unpadded base64url in payloads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from kcompat.cluster.config_entities import GROUPS, KINDS, entity_path
from kcompat.cluster.feature_levels import Levels, supported_of, supported_payload
from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.payloads import (
    DamagedZnodeError,
    decoder_of,
    field,
    json_object,
    optional_field,
)
from kcompat.protocol.uuids import ZERO_UUID, uuid_from_text, uuid_to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

CLUSTER_ID = "/cluster/id"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKER_IDS = "/brokers/ids"
BROKER_SEQUENCE = "/brokers/seqid"
TOPICS = "/brokers/topics"
CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = "/config/changes/config_change_"
DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"
ISR_CHANGES = "/isr_change_notification"
LOG_DIR_EVENTS = "/log_dir_event_notification"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
FEATURE = "/feature"

PERSISTENT_PATHS = (
    "/consumers",
    "/cluster",
    "/brokers",
    BROKER_IDS,
    TOPICS,
    BROKER_SEQUENCE,
    "/admin",
    DELETE_TOPICS,
    CONFIG,
    *(f"{CONFIG}/{kind}" for kind in KINDS if kind != GROUPS),
    CONFIG_CHANGES,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    PRODUCER_ID_BLOCK,
    FEATURE,
)
"""Nodes that a broker creates at its start if they are missing, parents first."""

PRODUCER_ID_BLOCK_SIZE = 1000

_encode = msgspec.json.encode


class BrokerRegistration(Struct, frozen=True):
    """Payload of `/brokers/ids/<id>`: endpoints are (host, port) by listener name."""

    endpoints: Mapping[str, tuple[str, int]]
    security_protocols: Mapping[str, str]
    rack: str | None = None
    features: Mapping[str, Levels] = {}
    """Levels of features that the broker supports."""

    def info(self, broker_id: int) -> BrokerInfo:
        """Return the broker as clients see it in Metadata."""
        return BrokerInfo(broker_id, self.rack, self.endpoints, self.security_protocols)


class TopicAssignment(Struct, frozen=True):
    """Payload of `/brokers/topics/<topic>`: the replicas of partitions 0, 1, 2, ..."""

    topic_id: bytes
    replicas: tuple[tuple[int, ...], ...]
    adding: Mapping[int, tuple[int, ...]] = {}
    removing: Mapping[int, tuple[int, ...]] = {}


class StoredPartitionState(Struct, frozen=True):
    """Payload of `/brokers/topics/<topic>/partitions/<index>/state`.

    `leader` is -1 if there is none; `leader_recovery_state` is 1 while a leader that was elected uncleanly
    recovers.
    """

    leader: int
    leader_epoch: int
    controller_epoch: int
    isr: tuple[int, ...]
    leader_recovery_state: int = 0


class _TopicPayload(Struct, frozen=True):
    """The fields of `/brokers/topics/<topic>`; old versions lack the last three."""

    partitions: dict[int, tuple[int, ...]]
    topic_id: str | None = None
    adding_replicas: dict[int, tuple[int, ...]] | None = None
    removing_replicas: dict[int, tuple[int, ...]] | None = None


class _ConfigPayload(Struct, frozen=True):
    """The fields of `/config/<kind>/<name>`."""

    config: dict[str, str]


_decode_topic = decoder_of(_TopicPayload)
_decode_config = decoder_of(_ConfigPayload)


class ProducerIdBlock(Struct, frozen=True):
    """Payload of `/latest_producer_id_block`: the producer ids from `first` to `last` inclusive, reserved for
    a broker.
    """

    broker_id: int
    first: int
    last: int


# -- paths -----------------------------------------------------------------------------------------------


def broker_path(broker_id: int) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKER_IDS}/{broker_id}"


def topic_path(topic: str) -> str:
    """Return the path of a topic's assignment."""
    return f"{TOPICS}/{topic}"


def partition_path(topic: str, partition: int) -> str:
    """Return the path of the parent of a partition's state."""
    return f"{TOPICS}/{topic}/partitions/{partition}"


def partition_state_path(topic: str, partition: int) -> str:
    """Return the path of a partition's state; the node's version is the partition epoch."""
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def config_path(kind: str, name: str) -> str:
    """Return the path of an entity's dynamic configs."""
    return f"{CONFIG}/{entity_path(kind, name)}"


def delete_topic_path(topic: str) -> str:
    """Return the path of the node that marks a topic for deletion."""
    return f"{DELETE_TOPICS}/{topic}"


# -- payloads --------------------------------------------------------------------------------------------


def encode_cluster_id(cluster_id: str) -> bytes:
    """Encode the payload of `/cluster/id`, whose version is a string."""
    return _encode({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    """Return the cluster id in the payload of `/cluster/id`."""
    return field(json_object(data), "id", str)


def decode_controller(data: bytes) -> int:
    """Return the broker id in the payload of `/controller`."""
    return field(json_object(data), "brokerid", int)


def encode_controller(broker_id: int, timestamp_ms: int) -> bytes:
    """Encode the payload of `/controller`, whose KRaft controller epoch is always -1."""
    return _encode(
        {"version": 2, "brokerid": broker_id, "timestamp": str(timestamp_ms), "kraftControllerEpoch": -1}
    )


def encode_broker(broker: BrokerRegistration, timestamp_ms: int) -> bytes:
    """Encode the payload of `/brokers/ids/<id>`, version 5.

    Its top-level host and port are those of the first PLAINTEXT endpoint; null and -1 if there is none.
    """
    plain = next(
        (
            endpoint
            for listener, endpoint in broker.endpoints.items()
            if broker.security_protocols[listener] == "PLAINTEXT"
        ),
        (None, -1),
    )
    payload: dict[str, Any] = {
        "version": 5,
        "host": plain[0],
        "port": plain[1],
        "endpoints": [
            f"{name}://{_bracketed(host)}:{port}" for name, (host, port) in broker.endpoints.items()
        ],
        "jmx_port": -1,
        "timestamp": str(timestamp_ms),
        "listener_security_protocol_map": dict(broker.security_protocols),
        "features": supported_payload(broker.features),
    }
    if broker.rack is not None:
        payload["rack"] = broker.rack
    return _encode(payload)


def decode_broker(data: bytes) -> BrokerRegistration:
    """Decode the payload of `/brokers/ids/<id>`, of any version.

    Version 1 has one plaintext host and port; later versions add the endpoints (2), the rack (3) and the
    security protocols by listener (4).
    """
    payload = json_object(data)
    if field(payload, "version", int) < 2:
        endpoint = (field(payload, "host", str), field(payload, "port", int))
        return BrokerRegistration({"PLAINTEXT": endpoint}, {"PLAINTEXT": "PLAINTEXT"})
    endpoints = {}
    for text in field(payload, "endpoints", list[str]):
        name, _, address = text.partition("://")
        host, _, port = address.rpartition(":")
        if not name or not port.isdigit():
            raise DamagedZnodeError(f"not an endpoint: {text!r}")
        endpoints[name] = (host.strip("[]"), int(port))
    own_names = {name: name for name in endpoints}
    protocols = optional_field(payload, "listener_security_protocol_map", dict[str, str], own_names)
    rack = None if payload.get("rack") is None else field(payload, "rack", str)
    return BrokerRegistration(endpoints, protocols, rack, supported_of(payload))


def encode_topic(assignment: TopicAssignment) -> bytes:
    """Encode the payload of `/brokers/topics/<topic>`, version 3."""
    return _encode(
        {
            "version": 3,
            "partitions": {str(index): replicas for index, replicas in enumerate(assignment.replicas)},
            "adding_replicas": {str(index): replicas for index, replicas in assignment.adding.items()},
            "removing_replicas": {str(index): replicas for index, replicas in assignment.removing.items()},
            "topic_id": uuid_to_text(assignment.topic_id),
        }
    )


def decode_topic(data: bytes) -> TopicAssignment:
    """Decode `/brokers/topics/<topic>`, of any version; below version 3 the topic id is `ZERO_UUID`."""
    payload = _decode_topic(data)
    partitions = payload.partitions
    if sorted(partitions) != list(range(len(partitions))):
        raise DamagedZnodeError(f"partitions are not numbered from 0: {sorted(partitions)}")
    return TopicAssignment(
        _topic_id(payload.topic_id or ""),
        tuple(partitions[index] for index in range(len(partitions))),
        payload.adding_replicas or {},
        payload.removing_replicas or {},
    )


def encode_reassignments(wanted: Mapping[tuple[str, int], tuple[int, ...]]) -> bytes:
    """Encode the payload of `/admin/reassign_partitions`: the wanted replicas by topic and partition."""
    partitions = [
        {"topic": topic, "partition": index, "replicas": replicas}
        for (topic, index), replicas in wanted.items()
    ]
    return _encode({"version": 1, "partitions": partitions})


def decode_reassignments(data: bytes) -> dict[tuple[str, int], tuple[int, ...]]:
    """Decode the payload of `/admin/reassign_partitions`: the wanted replicas by topic and partition."""
    return {
        (field(row, "topic", str), field(row, "partition", int)): field(row, "replicas", tuple[int, ...])
        for row in field(json_object(data), "partitions", list[dict[str, Any]])
    }


def decode_partitions(data: bytes) -> list[tuple[str, int]]:
    """Return the partitions in `/admin/preferred_replica_election` or
    `/isr_change_notification/isr_change_<n>`, as topic and index.
    """
    rows = field(json_object(data), "partitions", list[dict[str, Any]])
    return [(field(row, "topic", str), field(row, "partition", int)) for row in rows]


def encode_log_dir_event(broker_id: int) -> bytes:
    """Encode `/log_dir_event_notification/log_dir_event_<n>`: a log directory of the broker has failed."""
    return _encode({"version": 1, "broker": broker_id, "event": 1})


def decode_log_dir_event(data: bytes) -> int:
    """Return the broker in `/log_dir_event_notification/log_dir_event_<n>`, whose log directory failed."""
    return field(json_object(data), "broker", int)


def encode_partition_state(state: StoredPartitionState) -> bytes:
    """Encode `.../partitions/<index>/state`, version 1, with the recovery state only during recovery."""
    payload: dict[str, Any] = {
        "controller_epoch": state.controller_epoch,
        "leader": state.leader,
        "version": 1,
        "leader_epoch": state.leader_epoch,
        "isr": state.isr,
    }
    if state.leader_recovery_state:
        payload["leader_recovery_state"] = state.leader_recovery_state
    return _encode(payload)


decode_partition_state = decoder_of(StoredPartitionState)
"""Function that decodes the payload of `.../partitions/<index>/state`."""


def encode_config(configs: Mapping[str, str]) -> bytes:
    """Encode the payload of `/config/<kind>/<name>`."""
    return _encode({"version": 1, "config": dict(configs)})


def decode_config(data: bytes) -> dict[str, str]:
    """Decode the payload of `/config/<kind>/<name>`."""
    return _decode_config(data).config


def encode_config_change(entity_path: str) -> bytes:
    """Encode `/config/changes/config_change_<number>`, version 2, for an entity such as `topics/NAME`."""
    return _encode({"version": 2, "entity_path": entity_path})


def decode_config_change(data: bytes) -> str:
    """Return the path of the entity that a notification names.

    Version 2 of the payload has the path, version 1 has the kind and the name.
    """
    payload = json_object(data)
    if field(payload, "version", int) == 1:
        return f"{field(payload, 'entity_type', str)}/{field(payload, 'entity_name', str)}"
    return field(payload, "entity_path", str)


def encode_producer_ids(block: ProducerIdBlock) -> bytes:
    """Encode the payload of `/latest_producer_id_block`, whose numbers are strings."""
    return _encode(
        {
            "version": 1,
            "broker": block.broker_id,
            "block_start": str(block.first),
            "block_end": str(block.last),
        }
    )


def decode_producer_ids(data: bytes) -> ProducerIdBlock:
    """Decode the payload of `/latest_producer_id_block`."""
    payload = json_object(data)
    return ProducerIdBlock(
        field(payload, "broker", int), field(payload, "block_start", int), field(payload, "block_end", int)
    )


def encode_epoch(epoch: int) -> bytes:
    """Encode the payload of `/controller_epoch`, which is decimal text."""
    return str(epoch).encode()


def decode_epoch(data: bytes) -> int:
    """Decode the payload of `/controller_epoch`."""
    try:
        return int(data)
    except ValueError as error:
        raise DamagedZnodeError(f"not a controller epoch: {data!r}") from error


# -- parts of payloads -------------------------------------------------------------------------------------


def _topic_id(text: str) -> bytes:
    if not text:
        return ZERO_UUID
    try:
        return uuid_from_text(text)
    except ValueError as error:
        raise DamagedZnodeError(str(error)) from error


def _bracketed(host: str) -> str:
    """Return a host as a URL has it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host
